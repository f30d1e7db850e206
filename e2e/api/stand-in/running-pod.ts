import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isKubernetesError, resourceTypes } from '@osm-ts/kubernetes'
import type { HostEntry, MeshNetwork, WorkloadNetwork } from '@osm-ts/standalone/testing'
import { ChildProgram, type ApiServer } from '../harness/index.js'
import { commandOf, type ContainerCommand, type Images, type ReadKey } from './container-command.js'
import { mounting, type Mounts } from './mounts.js'
import { now, portNumber, type Container, type Pod } from './objects.js'
import { writeVolumes } from './volumes.js'

/** What pods run on. */
export interface PodPlacement {
  readonly server: ApiServer
  readonly network: MeshNetwork
  readonly images: Images
  /** Names that pods of a namespace know now. */
  readonly hosts: (namespace: string) => readonly HostEntry[]
}

/** How the run of a pod ended. */
export type PodOutcome = 'succeeded' | 'failed'

const run = promisify(execFile)
const success = 'exit code 0'
const pollMs = 100
const restartDelayMs = 300
/** `netns exec <namespace>`, the beginning of every command of a workload. */
const enterWords = 3
/** No one in particular, as images of the control plane name it. */
const defaultUser = 65_532

/**
 * The processes of a pod: in its own network namespace, with its volumes and the token of its service account where pods look for
 * them. What a kubelet would make of it.
 */
export class RunningPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  /** Resolves when no container is left to run. */
  readonly outcome: Promise<PodOutcome>
  readonly #pod: Pod
  readonly #placement: PodPlacement
  readonly #folder: string
  readonly #programs = new Map<string, ChildProgram>()
  readonly #abort = new AbortController()
  #workload: WorkloadNetwork | undefined
  #ready = false
  #killed = false
  #stopped = false
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(pod: Pod, placement: PodPlacement) {
    this.#pod = pod
    this.#placement = placement
    this.name = pod.metadata.name
    this.namespace = pod.metadata.namespace ?? ''
    this.uid = pod.metadata.uid ?? ''
    this.#folder = join(placement.server.folder, 'pods', this.uid)
    mkdirSync(this.#folder, { recursive: true })
    this.outcome = this.#run()
  }

  /** Its network namespace, once it has one. */
  get workload(): WorkloadNetwork | undefined {
    return this.#workload
  }

  get isReady(): boolean {
    return this.#ready
  }

  /** The process of a container; the latest, if it was restarted. */
  program(container: string): ChildProgram {
    const program = this.#programs.get(container)
    if (program === undefined) throw new Error(`container ${container} of pod ${this.name} has not been started`)
    return program
  }

  /** The end of what each container printed, for messages. */
  lastWords(): string {
    const words = [...this.#programs].map(([name, program]) => `--- ${this.name}/${name}:\n${program.lastWords()}`)
    return words.join('\n')
  }

  /** Ends its processes with SIGKILL, and has nothing start them again; its network stays, so that connections to it are refused. */
  async kill(): Promise<void> {
    this.#killed = true
    await Promise.all([...this.#programs.values()].map((program) => program.kill()))
    await this.outcome
  }

  /** Ends its processes, politely at first, and removes its network. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#abort.abort(new Error(`pod ${this.name} is stopped`))
    await Promise.all([...this.#programs.values()].map((program) => program.stop()))
    await this.outcome
    await this.#workload?.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #run(): Promise<PodOutcome> {
    const { signal } = this.#abort
    try {
      const start = await this.#prepare(signal)
      const { initContainers = [], containers } = this.#pod.spec
      for (const container of initContainers) {
        const program = await start(container)
        if (container.restartPolicy === 'Always') await this.#answers(container, container.startupProbe, signal)
        else if ((await program.ended) !== success) throw new Error(program.lastWords())
      }
      const outcomes = await Promise.all([this.#follow(containers, start, signal), this.#watchReadiness(signal)])
      return outcomes[0]
    } catch (error) {
      if (!signal.aborted) await this.#report('Failed', String(error))
      return 'failed'
    }
  }

  /** Makes the network and files of the pod; gives what starts a container in it. */
  async #prepare(signal: AbortSignal): Promise<(container: Container) => Promise<ChildProgram>> {
    const { server, network, images } = this.#placement
    const name = `${this.name}.${this.uid.slice(0, 8)}`
    const workload = await network.addWorkload({ name, interception: 'none', hosts: [] }, signal)
    this.#workload = workload
    for (const range of [server.serviceRange, `${server.address}/32`])
      await run('ip', ['-n', workload.namespace, 'route', 'add', range, 'via', network.hostAddress])
    const status = { podIP: workload.address, podIPs: [{ ip: workload.address }] }
    await this.#patchStatus({ phase: 'Pending', ...status })
    const pod: Pod = { ...this.#pod, status }
    const mountsOf = await writeVolumes(pod, join(this.#folder, 'volumes'), server, signal)
    const read: ReadKey = async (kind, object, key) => {
      const found = await server.api.get(resourceTypes[kind], { namespace: this.namespace, name: object }, signal)
      const value = (found?.data as Readonly<Record<string, string>> | undefined)?.[key]
      return value !== undefined && kind === 'Secret' ? Buffer.from(value, 'base64').toString() : value
    }
    return async (container) => {
      const command = await commandOf(container, { pod, images, read })
      signal.throwIfAborted()
      return this.#spawn(container, command, mountsOf(container))
    }
  }

  #spawn(container: Container, { argv, env }: ContainerCommand, mounts: Mounts): ChildProgram {
    const { server, hosts } = this.#placement
    const workload = this.#workload
    if (workload === undefined) throw new Error('the pod has no network')
    // As a cluster's DNS has them before any pod starts: Envoy reads the file once a minute at the most, so a name that comes too late is unknown till then.
    workload.setHosts(hosts(this.namespace))
    chmodSync(this.#folder, 0o755)
    const uid = container.securityContext?.runAsUser ?? defaultUser
    // Anyone who is root sets up the network; anybody else has no rights at all.
    const user =
      uid === 0
        ? argv
        : workload.command(['setpriv', '--pdeathsig', 'KILL', '--', ...argv], { uid }).args.slice(enterWords)
    const { hostname, port } = new URL(server.url)
    const program = new ChildProgram({
      name: `${this.name}/${container.name}`,
      file: 'ip',
      args: ['netns', 'exec', workload.namespace, ...mounting(mounts, workload.namespace), ...user],
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.#folder,
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: port,
        ...env,
      },
      logFile: join(server.folder, 'logs', `${this.namespace}.${this.name}.${container.name}.log`),
      cwd: this.#folder,
    })
    this.#programs.set(container.name, program)
    return program
  }

  /** Runs the containers to their end; one that must not end is started again. */
  async #follow(
    containers: readonly Container[],
    start: (container: Container) => Promise<ChildProgram>,
    signal: AbortSignal,
  ): Promise<PodOutcome> {
    const { restartPolicy = 'Always' } = this.#pod.spec
    const ends = await Promise.all(
      containers.map(async (container) => {
        for (;;) {
          const end = await (await start(container)).ended
          const isDone = this.#killed || restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && end === success)
          if (isDone || signal.aborted) return end
          await new Promise((resolve) => setTimeout(resolve, restartDelayMs))
        }
      }),
    )
    const outcome = ends.every((end) => end === success) ? 'succeeded' : 'failed'
    if (signal.aborted) return outcome
    // Nothing is left whose readiness could change; sidecars end after the containers that they serve.
    this.#abort.abort(new Error(`pod ${this.name} has ended`))
    await Promise.all([...this.#programs.values()].map((program) => program.stop()))
    await this.#report(outcome === 'succeeded' ? 'Succeeded' : 'Failed', ends.join(', '))
    return outcome
  }

  async #watchReadiness(signal: AbortSignal): Promise<void> {
    const { containers, initContainers = [] } = this.#pod.spec
    const all = [...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always'), ...containers]
    let told: boolean | undefined
    while (!signal.aborted) {
      const answers = await Promise.all(all.map((container) => this.#answersNow(container, container.readinessProbe)))
      if (this.#isOver()) break
      this.#ready = answers.every(Boolean)
      if (told !== this.#ready) {
        told = this.#ready
        await this.#report('Running', '')
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
    this.#ready = false
  }

  #isOver(): boolean {
    return this.#abort.signal.aborted
  }

  async #answers(container: Container, probe: Container['startupProbe'], signal: AbortSignal): Promise<void> {
    while (!(await this.#answersNow(container, probe))) {
      signal.throwIfAborted()
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  async #answersNow({ name }: Container, probe: Container['readinessProbe']): Promise<boolean> {
    if (this.#programs.get(name)?.isRunning !== true) return false
    if (probe?.httpGet === undefined) return true
    const { path = '/', port, httpHeaders = [] } = probe.httpGet
    const host = this.#workload?.address ?? ''
    const headers = Object.fromEntries(httpHeaders.map((header) => [header.name, header.value]))
    return succeeds({ host, port: portNumber(port, this.#pod.spec), path, headers })
  }

  async #report(phase: string, message: string): Promise<void> {
    const status = this.#ready && phase === 'Running' ? 'True' : 'False'
    const condition = (type: string, value: string): object => ({ type, status: value, lastTransitionTime: now() })
    await this.#patchStatus({
      phase,
      message,
      conditions: [
        condition('PodScheduled', 'True'),
        condition('Initialized', 'True'),
        condition('ContainersReady', status),
        condition('Ready', status),
      ],
    })
  }

  /** One after the other: an older status must not overwrite a newer one. */
  #patchStatus(status: object): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write(status))
    return this.#lastWrite
  }

  /** Until it is written, or the pod is gone. */
  async #write(status: object): Promise<void> {
    const name = { namespace: this.namespace, name: this.name }
    const { api } = this.#placement.server
    for (;;) {
      try {
        const options = { signal: AbortSignal.timeout(10_000), subresource: 'status' }
        await api.mergePatch(resourceTypes.Pod, name, { metadata: { uid: this.uid }, status }, options)
        return
      } catch (error) {
        // A pod of the same name and another uid is a conflict.
        if (this.#stopped || (isKubernetesError(error) && (error.notFound || error.conflict))) return
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

function succeeds(target: {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ ...target, agent: false, timeout: 1_000 }, (response) => {
      response.resume()
      const { statusCode = 0 } = response
      resolve(statusCode >= 200 && statusCode < 400)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => {
      resolve(false)
    })
  })
}
