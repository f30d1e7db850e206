import {
  isKubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { errorMessage, eventually } from '@osm-ts/driver-api/toolkit'
import type { HostEntry, MeshNetwork } from '@osm-ts/standalone/testing'
import { createPodNetwork, type ApiServer } from '../harness/index.js'
import type { Images } from './container-command.js'
import { reconcileDeployment } from './deployments.js'
import { reconcileEndpoints } from './endpoint-slices.js'
import { reconcileJob } from './jobs.js'
import { hostsOf } from './names.js'
import { type Deployment, type Job, type Labels, type Pod, type Service } from './objects.js'
import { RunningPod } from './running-pod.js'
import { translate, translationRules } from './service-translation.js'

/** What a stand-in needs. */
export interface ClusterStandInOptions {
  readonly server: ApiServer
  /** Programs by the names of their images. */
  readonly images: Images
  /**
   * True: in pods, addresses of the control plane's services lead to any of their ready pods, as kube-proxy has it. Else their names lead to one
   * of these pods, which is enough where a Service has one.
   */
  readonly translatesServices?: boolean
}

/** What a namespace varies in. */
export interface NamespaceOptions {
  readonly labels?: Labels
  readonly annotations?: Labels
  /** True if names of services are to lead to pods, see `hostsOf`. */
  readonly controlPlane?: boolean
  /** False: its pods are made and never run. */
  readonly runsPods?: boolean
}

/** What was found in the namespaces at one moment. */
interface Found {
  readonly deployments: readonly Deployment[]
  readonly jobs: readonly Job[]
  readonly pods: readonly Pod[]
  readonly services: readonly Service[]
  readonly slices: readonly KubernetesObject[]
}

const readyTimeoutMs = 60_000
const roundMs = 150
const requestTimeoutMs = 20_000

/**
 * Replaces what a cluster has besides its API server, in the namespaces that it is given: for the controller manager (pods of
 * Deployments and Jobs, EndpointSlices), the kubelet (the processes of pods, each pod with a network namespace and an address) and DNS
 * (hosts files). Only as much of each as these tests ask of it.
 */
export class ClusterStandIn {
  readonly #options: ClusterStandInOptions
  readonly #network: MeshNetwork
  readonly #namespaces = new Map<string, { readonly isControlPlane: boolean }>()
  readonly #pods = new Map<string, RunningPod>()
  readonly #abort = new AbortController()
  readonly #loop: Promise<void>
  readonly #faults: string[] = []
  /** Rules that pods have, by their uids. */
  readonly #rules = new Map<string, string>()
  /** What all names lead to, as of the last round. */
  #entries: readonly HostEntry[] = []
  /** What the hosts files of pods say now. */
  #hosts = ''

  private constructor(options: ClusterStandInOptions, network: MeshNetwork) {
    this.#options = options
    this.#network = network
    this.#loop = this.#follow(this.#abort.signal)
  }

  static async start(options: ClusterStandInOptions, signal: AbortSignal): Promise<ClusterStandIn> {
    return new ClusterStandIn(options, await createPodNetwork(signal))
  }

  get api(): KubernetesApi {
    return this.#options.server.api
  }

  /** Makes a namespace with its default service account, and looks after it from now on. */
  async createNamespace(
    name: string,
    { labels = {}, annotations = {}, controlPlane = false, runsPods = true }: NamespaceOptions = {},
  ): Promise<void> {
    const options = { signal: AbortSignal.timeout(requestTimeoutMs) }
    const manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels, annotations } }
    await this.api.create(resourceTypes.Namespace, manifest, options)
    await this.createServiceAccount(name, 'default')
    if (runsPods) this.adopt(name, { controlPlane })
  }

  /** Looks after a namespace that is there. */
  adopt(namespace: string, { controlPlane = false }: { readonly controlPlane?: boolean } = {}): void {
    this.#namespaces.set(namespace, { isControlPlane: controlPlane })
  }

  async createServiceAccount(namespace: string, name: string): Promise<void> {
    const options = { signal: AbortSignal.timeout(requestTimeoutMs) }
    const manifest = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
    await this.api.create(resourceTypes.ServiceAccount, manifest, options)
  }

  /** The pods that run now, of one namespace. */
  pods(namespace: string): readonly RunningPod[] {
    return [...this.#pods.values()].filter((pod) => pod.namespace === namespace)
  }

  /** The one running pod of that name, or whose name begins with it. */
  pod(namespace: string, name: string): RunningPod {
    const [pod, ...more] = this.pods(namespace).filter(
      (found) => found.name === name || found.name.startsWith(`${name}-`),
    )
    if (pod === undefined || more.length > 0)
      throw new Error(`${String(more.length + (pod ? 1 : 0))} pods ${namespace}/${name} run, not one`)
    return pod
  }

  /** Comes back when the pods of these names are ready. */
  async ready(namespace: string, names: readonly string[]): Promise<readonly RunningPod[]> {
    const find = (): readonly RunningPod[] =>
      this.pods(namespace).filter(({ name, isReady }) => names.includes(name) && isReady)
    try {
      return await eventually(find, (found) => found.length === names.length, { timeoutMs: readyTimeoutMs })
    } catch {
      const missing = names.filter((name) => !find().some((pod) => pod.name === name))
      throw new Error(`in namespace ${namespace} these pods are not ready: ${missing.join(', ')}\n${this.report()}`)
    }
  }

  /** What pods printed last and what went wrong here, for messages. */
  report(): string {
    return [
      ...this.#faults.map((fault) => `stand-in: ${fault}`),
      ...[...this.#pods.values()].map((pod) => pod.lastWords()),
    ].join('\n')
  }

  /** Ends all processes and removes the network. What is stored in the API server stays. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error('the stand-in is stopped'))
    await this.#loop
    await Promise.all([...this.#pods.values()].map((pod) => pod.stop()))
    await this.#network.destroy()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(async () => this.#round(signal))
      await new Promise((resolve) => setTimeout(resolve, roundMs))
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const found = await this.#look(signal)
    this.#entries = this.#entriesOf(found)
    this.#runPods(found.pods)
    this.#tellNames()
    if (this.#options.translatesServices === true) await this.#translateServices(found)
    for (const deployment of found.deployments)
      await this.#attempt(() => reconcileDeployment(deployment, inSame(deployment, found.pods), this.api, signal))
    for (const job of found.jobs)
      await this.#attempt(() => reconcileJob(job, inSame(job, found.pods), this.api, signal))
    for (const service of found.services) {
      const [pods, slices] = [inSame(service, found.pods), inSame(service, found.slices)]
      await this.#attempt(() => reconcileEndpoints(service, pods, slices, this.api, signal))
    }
    await this.#removeOrphans(found, signal)
  }

  async #look(signal: AbortSignal): Promise<Found> {
    const timed = AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)])
    const all = async <T>(type: ResourceType): Promise<readonly T[]> => {
      const namespaces = [...this.#namespaces.keys()]
      const pages = await Promise.all(namespaces.map((namespace) => this.api.list(type, { namespace }, timed)))
      return pages.flatMap(({ items }) => items) as unknown as readonly T[]
    }
    const [deployments, jobs, pods, services, slices] = await Promise.all([
      all<Deployment>(resourceTypes.Deployment),
      all<Job>(resourceTypes.Job),
      all<Pod>(resourceTypes.Pod),
      all<Service>(resourceTypes.Service),
      all<KubernetesObject>(resourceTypes.EndpointSlice),
    ])
    return { deployments, jobs, pods, services, slices }
  }

  /** Starts the processes of new pods and ends those of pods that are gone. */
  #runPods(pods: readonly Pod[]): void {
    const wanted = new Map(pods.map((pod) => [pod.metadata.uid ?? '', pod]))
    for (const [uid, running] of this.#pods) {
      if (wanted.has(uid)) continue
      this.#pods.delete(uid)
      this.#rules.delete(uid)
      void this.#attempt(() => running.stop())
    }
    for (const [uid, pod] of wanted) {
      const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
      if (this.#pods.has(uid) || isOver) continue
      this.#hosts = ''
      const hosts = (namespace: string): readonly HostEntry[] => withShortNames(this.#entries, namespace)
      this.#pods.set(uid, new RunningPod(pod, { ...this.#options, network: this.#network, hosts }))
    }
  }

  #entriesOf({ services, pods }: Found): readonly HostEntry[] {
    const leadsToPods = (name: string): boolean =>
      this.#options.translatesServices !== true && this.#isControlPlane(name)
    return hostsOf(services, pods, leadsToPods)
  }

  #tellNames(): void {
    const text = JSON.stringify([
      this.#entries,
      [...this.#pods.values()].map(({ uid, workload }) => [uid, workload !== undefined]),
    ])
    if (text === this.#hosts) return
    this.#hosts = text
    for (const { workload, namespace } of this.#pods.values())
      workload?.setHosts(withShortNames(this.#entries, namespace))
  }

  async #translateServices({ services, slices }: Found): Promise<void> {
    const own = services.filter(({ metadata }) => this.#isControlPlane(metadata.namespace ?? ''))
    const rules = translationRules(own, slices)
    const text = rules.join('\n')
    await Promise.all(
      [...this.#pods.values()].map(async ({ uid, workload }) => {
        const before = this.#rules.get(uid)
        if (workload === undefined || before === text) return
        await this.#attempt(async () => {
          await translate(workload, rules, before === undefined)
          this.#rules.set(uid, text)
        })
      }),
    )
  }

  #isControlPlane(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.isControlPlane ?? false
  }

  /** What has lost its owner goes with it, as the garbage collector would have it. */
  async #removeOrphans({ deployments, jobs, pods }: Found, signal: AbortSignal): Promise<void> {
    const owners = new Set([...deployments, ...jobs].map(({ metadata }) => metadata.uid))
    for (const pod of pods) {
      const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)
      if (owner === undefined || owners.has(owner.uid)) continue
      const name = { namespace: pod.metadata.namespace ?? '', name: pod.metadata.name }
      await this.#attempt(() => this.api.delete(resourceTypes.Pod, name, { signal }))
    }
  }

  /** What fails is tried again in the next round; conflicts and an absent API server are everyday life. */
  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#abort.signal.aborted) return
      if (isKubernetesError(error) && (error.conflict || error.notFound)) return
      this.#faults.push(errorMessage(error))
      this.#faults.splice(0, this.#faults.length - 20)
    }
  }
}

function inSame<T extends KubernetesObject>({ metadata }: KubernetesObject, objects: readonly T[]): readonly T[] {
  return objects.filter((object) => object.metadata.namespace === metadata.namespace)
}

/** Pods know the services of their own namespace by their names alone. */
function withShortNames(entries: readonly HostEntry[], namespace: string): readonly HostEntry[] {
  return entries.map(({ address, names }) => {
    const [name, home] = (names[0] ?? '').split('.')
    return { address, names: home === namespace && name !== undefined ? [name, ...names] : names }
  })
}
