import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLock } from '../../../tools/lib/lock.mjs'
import { say, timed } from '../../../tools/lib/progress.mjs'
import { Kubectl } from '../kubectl.js'
import {
  ClusterError,
  type ClusterDescription,
  type ClusterProvider,
  type ClusterSettings,
  type ClusterStatus,
  type ImageArchive,
} from '../provider.js'
import { waitUntil } from '../wait-until.js'
import { addressPlan, chooseBlock, type AddressPlan, type IpFamily } from './address-plan.js'
import { ipv6Obstacle } from './ipv6-probe.js'
import { createCgroups } from './cgroups.js'
import { controlPlaneFiles, nodeSecrets, writeFiles } from './cluster-files.js'
import { adminUser, kubeconfig, kubeletClientUser, makeCredentials } from './credentials.js'
import { dnsManifests, kubeletAccess } from './dns-manifests.js'
import { raiseKernelLimits } from './kernel-limits.js'
import { StartingMachine, machinePid } from './machine-process.js'
import { controlPlaneSteps, nodeSteps, type LocalPrograms, type Machine } from './machine-script.js'
import { clusterFolders, clusterNames, type ClusterNames } from './names.js'
import { connectMachines, routedDestinations } from './network.js'
import { nodeFiles } from './node-files.js'
import { NodeRuntime } from './node-runtime.js'
import { makeVolumeFolders, storageManifests } from './storage-manifests.js'
import { clusterTraces, removeCluster } from './sweep.js'

/** What a local cluster is made of. */
export interface LocalSettings extends ClusterSettings {
  readonly programs: LocalPrograms
  readonly kubectl: string
  readonly ipFamily: IpFamily
  /** The images that nodes need themselves. */
  readonly images: { readonly pause: ImageArchive; readonly dns: ImageArchive }
}

/** What is remembered of a cluster. */
interface ClusterRecord {
  readonly block: number
  readonly nodes: number
  readonly ipFamily: IpFamily
  /** True once all of it has been made. */
  readonly complete?: boolean
}

const recordFile = 'cluster.json'
const controlPlane = 'control-plane'
const waitMs = 120_000
const allocationLock = '/run/lock/osm-cluster.lock'

/** Real Kubernetes on this machine, without a container engine: every machine of the cluster is a set of namespaces. */
export class LocalProvider implements ClusterProvider {
  readonly #names: ClusterNames
  readonly #settings: () => Promise<LocalSettings>
  readonly #kubectl: string

  /** @param settings - requested only when a cluster has to be made */
  constructor(name: string, kubectl: string, settings: () => Promise<LocalSettings>) {
    this.#names = clusterNames(name)
    this.#kubectl = kubectl
    this.#settings = settings
  }

  async up(signal: AbortSignal): Promise<ClusterDescription> {
    const settings = await this.#settings()
    return this.#alone(async () => {
      const { state, cluster, findings } = await this.status(signal)
      if (state === 'up' && cluster !== undefined) {
        if (cluster.nodes.length !== settings.nodes)
          throw new ClusterError(
            `the cluster has ${cluster.nodes.length} nodes, not ${settings.nodes}; take it down first`,
          )
        const { ipFamily } = this.#record() ?? settings
        if (ipFamily !== settings.ipFamily)
          throw new ClusterError(
            `the cluster has --ip-family ${ipFamily}, not ${settings.ipFamily}; take it down first`,
          )
        return cluster
      }
      if (state === 'partial') {
        say(`removing what is left of an earlier cluster: ${findings.join('; ')}`)
        await removeCluster(this.#names)
      }
      return this.#make(settings, signal)
    })
  }

  async load(images: readonly ImageArchive[], signal: AbortSignal): Promise<readonly string[]> {
    return this.#alone(async () => {
      const nodes = this.#record()?.nodes
      if (nodes === undefined) throw new ClusterError(`there is no cluster ${this.#names.name}; make one first`)
      const loaded = new Set<string>()
      await Promise.all(
        Array.from({ length: nodes }, async (_, index) => {
          const runtime = this.#runtime(`node-${index + 1}`)
          for (const { name } of await runtime.import(images, signal)) loaded.add(name)
        }),
      )
      return images.map(({ name }) => name).filter((name) => loaded.has(name))
    })
  }

  async status(signal: AbortSignal): Promise<ClusterStatus> {
    const record = this.#record()
    const traces = await clusterTraces(this.#names)
    if (traces.length === 0) return { state: 'down', findings: [] }
    if (record === undefined) return { state: 'partial', findings: traces }
    const plan = planOf(record)
    const machines = [controlPlane, ...plan.nodes.map(({ name }) => name)]
    const ended = machines.filter((name) => machinePid(this.#folder(name), this.#names.name) === undefined)
    if (ended.length > 0) return { state: 'partial', findings: ended.map((name) => `machine ${name} does not run`) }
    if (record.complete !== true) return { state: 'partial', findings: ['it has not been completed'] }
    const findings = await this.#findFaults(plan, signal)
    return { state: findings.length === 0 ? 'up' : 'partial', findings, cluster: this.#describe(plan) }
  }

  async down(_signal: AbortSignal): Promise<void> {
    // Ignores the signal: an interruption would leave a part of the cluster.
    await this.#alone(() => removeCluster(this.#names))
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return withLock(this.#names.lock, work)
  }

  async #make(settings: LocalSettings, signal: AbortSignal): Promise<ClusterDescription> {
    try {
      raiseKernelLimits()
      const obstacle = settings.ipFamily === 'dual' ? await ipv6Obstacle(signal) : undefined
      if (obstacle !== undefined) throw new ClusterError(`--ip-family dual is not possible here: ${obstacle}`)
      const record = await this.#takeAddresses(settings, signal)
      const plan = planOf(record)
      createCgroups(
        this.#names.cgroup,
        plan.nodes.map(({ name }) => name),
      )
      const machines = await this.#prepareMachines(plan, settings, signal)
      await timed(`Starting the machines of cluster ${this.#names.name}`, () =>
        this.#start(plan, machines, settings, signal),
      )
      await timed('Waiting for nodes and DNS', () => this.#finish(plan, settings, signal))
      this.#remember({ ...record, complete: true })
      return this.#describe(plan)
    } catch (error) {
      if (signal.aborted) await timed('Removing what there is of the cluster', () => removeCluster(this.#names))
      else say(`what there is of the cluster stays for a look, with logs in ${this.#names.folder}/*/log`)
      throw error
    }
  }

  /** Of two clusters that look for addresses at the same moment both would find the same. */
  #takeAddresses({ nodes, ipFamily }: LocalSettings, signal: AbortSignal): Promise<ClusterRecord> {
    return withLock(allocationLock, async () => {
      const taken = clusterFolders().flatMap((folder) => readRecord(folder)?.block ?? [])
      const record = { block: chooseBlock(await routedDestinations(signal), taken), nodes, ipFamily }
      mkdirSync(this.#names.folder, { recursive: true, mode: 0o711 })
      this.#remember(record)
      return record
    })
  }

  async #prepareMachines(plan: AddressPlan, settings: LocalSettings, signal: AbortSignal): Promise<readonly Machine[]> {
    const { programs, images } = settings
    const { name: cluster, cgroup } = this.#names
    const credentials = await makeCredentials(plan, signal)
    writeFiles(this.#names.folder, { 'admin.kubeconfig': kubeconfig(credentials, plan, cluster, adminUser) })
    writeFiles(configuration(this.#folder(controlPlane)), controlPlaneFiles(credentials, plan, cluster))
    for (const node of plan.nodes) {
      makeVolumeFolders(this.#folder(node.name))
      writeFiles(configuration(this.#folder(node.name)), {
        ...nodeFiles({ plan, node, cgroup, pauseImage: images.pause.name, plugins: programs.plugins }),
        ...nodeSecrets(credentials, plan, cluster, node.name),
      })
    }
    const machine = (name: string, steps: Machine['steps']): Machine => ({
      name,
      folder: this.#folder(name),
      programs: programs.kubernetes,
      steps,
    })
    return [
      machine(controlPlane, controlPlaneSteps(plan, programs)),
      ...plan.nodes.map((node) => machine(node.name, nodeSteps(node, programs))),
    ]
  }

  async #start(
    plan: AddressPlan,
    machines: readonly Machine[],
    { images }: LocalSettings,
    signal: AbortSignal,
  ): Promise<void> {
    const started = new Map<string, StartingMachine>()
    for (const machine of machines) {
      started.set(machine.name, await StartingMachine.start(machine, this.#names.marker, signal))
    }
    const named = (name: string): StartingMachine => {
      const machine = started.get(name)
      if (machine === undefined) throw new Error(`machine ${name} was not started`)
      return machine
    }
    const nodes = plan.nodes.map(({ name }) => ({ name, machine: named(name) }))
    const pids = {
      controlPlane: named(controlPlane).pid,
      nodes: new Map(nodes.map(({ name, machine }) => [name, machine.pid])),
    }
    await connectMachines(plan, this.#names.hostLink, pids, { env: this.#names.marker, signal })
    for (const machine of started.values()) await machine.next()
    named(controlPlane).leave()
    await Promise.all(
      nodes.map(async ({ name, machine }) => {
        const runtime = this.#runtime(name)
        await runtime.ready(signal)
        await runtime.import([images.pause, images.dns], signal)
        await waitUntil(`registration of ${name}`, () => this.#isRegistered(name, signal), {
          timeoutMs: waitMs,
          signal,
        })
        await machine.next()
        machine.leave()
      }),
    )
  }

  async #finish(plan: AddressPlan, { images }: LocalSettings, signal: AbortSignal): Promise<void> {
    const kubectl = this.#client()
    const options = { timeoutMs: waitMs, signal }
    await kubectl.apply(kubeletAccess(kubeletClientUser), options)
    // Its pods spread over the nodes that are ready by then.
    await kubectl.run(['wait', 'node', '--all', '--for=condition=Ready', '--timeout=110s'], options)
    const replicas = Math.min(2, plan.nodes.length)
    await kubectl.apply(dnsManifests({ image: images.dns.name, address: plan.dnsService, replicas }), options)
    await kubectl.apply(storageManifests(plan.nodes.map(({ name }) => name)), options)
    const rollout = ['rollout', 'status', 'deployment/coredns', '--namespace=kube-system', '--timeout=110s']
    await kubectl.run(rollout, options)
    // Pods can't be made before the controller manager has made this.
    const account = ['get', 'serviceaccount', 'default', '--namespace=default']
    const isThere = async (): Promise<true | undefined> =>
      (await kubectl.try(account, { signal })).code === 0 ? true : undefined
    await waitUntil('the default service account', isThere, { timeoutMs: waitMs, signal })
  }

  async #isRegistered(node: string, signal: AbortSignal): Promise<true | undefined> {
    const { code } = await this.#client().try(['get', 'node', node], { signal })
    return code === 0 ? true : undefined
  }

  async #findFaults(plan: AddressPlan, signal: AbortSignal): Promise<readonly string[]> {
    const kubectl = this.#client()
    const ready = await kubectl.try(['get', '--raw=/readyz', '--request-timeout=5s'], { signal })
    if (ready.code !== 0) return [`the API server is not ready: ${ready.stderr.trim()}`]
    const { items } = await kubectl.get<NodeList>(['nodes', '--request-timeout=5s'], { signal })
    const isReady = new Set(
      items
        .filter(({ status }) => status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
        .map(({ metadata }) => metadata.name),
    )
    return plan.nodes.filter(({ name }) => !isReady.has(name)).map(({ name }) => `${name} is not ready`)
  }

  #client(): Kubectl {
    return new Kubectl(this.#kubectl, this.#names.kubeconfig, this.#names.marker)
  }

  #runtime(node: string): NodeRuntime {
    return new NodeRuntime(this.#folder(node), this.#names.marker)
  }

  #folder(machine: string): string {
    return join(this.#names.folder, machine)
  }

  #remember(record: ClusterRecord): void {
    const path = join(this.#names.folder, recordFile)
    writeFileSync(`${path}.partial`, JSON.stringify(record))
    // Anyone who reads it meanwhile finds a whole one.
    renameSync(`${path}.partial`, path)
  }

  #record(): ClusterRecord | undefined {
    return readRecord(this.#names.folder)
  }

  #describe(plan: AddressPlan): ClusterDescription {
    const { name, folder, kubeconfig: path } = this.#names
    const nodes = plan.nodes.map((node) => node.name)
    return { name, provider: 'local', kubeconfig: path, nodes, logs: folder }
  }
}

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string }
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  }[]
}

function planOf({ block, nodes, ipFamily }: ClusterRecord): AddressPlan {
  return addressPlan(block, nodes, ipFamily)
}

function configuration(machineFolder: string): string {
  return join(machineFolder, 'lib/osm-cluster')
}

function readRecord(folder: string): ClusterRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, recordFile), 'utf8')) as ClusterRecord
  } catch {
    // Not written yet: the cluster is then known by what else there is of it.
    return undefined
  }
}
