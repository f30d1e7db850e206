import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

import { Deadline, servedPorts, serviceIdentity, type Snapshot } from '@osm-ts/core'
import { backoffMs, deferred, errorMessage } from '@osm-ts/driver-api/toolkit'

import { isAborted } from '../process/kept-running.js'
import type { RunningInstance } from '../types.js'
import type { DesiredInstance } from './desired-instances.js'
import { InstanceFile, instanceHostname } from './instance-object.js'
import { InstanceProblems } from './instance-problems.js'
import { InstanceProgram } from './instance-program.js'
import type { InstanceServices } from './instance-services.js'
import { InstanceSidecar } from './instance-sidecar.js'
import { prepareSidecar, type PreparedSidecar } from './prepare-sidecar.js'
import type { InstancePlacement, SiteView } from './instance-placement.js'

const PREPARE_LIMITS = { firstMs: 1000, lastMs: 30_000 }
const PROGRAM_GRACE_MS = 8000
const SIDECAR_GRACE_MS = 3000
const PLACES = ['prepare', 'placement', 'sidecar', 'program', 'certificate'] as const

/** How far an instance has come. */
export type InstancePhase = 'is being prepared' | 'waits for its sidecar' | 'starts' | 'runs' | 'is done'

/** An instance that has its place. */
interface Entered {
  readonly placement: InstancePlacement
  readonly address: string
  readonly prepared: PreparedSidecar | undefined
  readonly createdAt: string
}

/** One replica of a workload, with its sidecar: from its first preparation to the end of both. */
export class Instance {
  readonly desired: DesiredInstance
  readonly #services: InstanceServices
  readonly #problems: InstanceProblems
  readonly #file: InstanceFile
  readonly #ending = new AbortController()
  readonly #hurry = new AbortController()
  #snapshot: Snapshot
  #entered: Entered | undefined
  #view: SiteView = { allocations: undefined, variables: {}, problems: [] }
  #sidecar: InstanceSidecar | undefined
  #program: InstanceProgram | undefined
  #isLeaving = false
  #detail = ''
  #refreshing: Promise<void> = Promise.resolve()
  #running: Promise<void> = Promise.resolve()
  #removing: Promise<void> | undefined
  readonly #gone = deferred<undefined>()

  constructor(desired: DesiredInstance, snapshot: Snapshot, services: InstanceServices) {
    this.desired = desired
    this.#snapshot = snapshot
    this.#services = services
    this.#problems = new InstanceProblems(desired, services)
    this.#file = new InstanceFile(services.paths.instances, desired.namespace, desired.name)
  }

  get phase(): InstancePhase {
    if (this.#program?.isCompleted === true) return 'is done'
    if (this.#entered === undefined) return 'is being prepared'
    if (this.#sidecar?.isReady === false) return 'waits for its sidecar'
    return this.#program?.isListening === true ? 'runs' : 'starts'
  }

  /** Why it has not come further, if that is known. */
  get detail(): string {
    return this.#program?.detail ?? this.#detail
  }

  /** Variables by which others can be reached now, but of which the running program was not told. */
  missingVariables(): readonly string[] {
    const program = this.#program
    if (program?.pid === undefined) return []
    return Object.keys(this.#view.variables).filter((name) => !Object.hasOwn(program.given, name))
  }

  describe(): RunningInstance {
    const { namespace, name, workload, sidecarClass = '' } = this.desired
    const { placement, prepared } = this.#entered ?? {}
    // In its own network namespace it is not within reach.
    const adminPort = placement?.mode === 'explicit' ? prepared?.patch.admin?.port : undefined
    return {
      uuid: prepared?.uuid ?? '',
      name,
      namespace,
      workload: workload.metadata.name,
      identity: serviceIdentity({ namespace, name: workload.spec.serviceAccountName }),
      class: sidecarClass,
      pid: this.#program?.pid,
      sidecarPid: this.#sidecar?.pid,
      admin: adminPort === undefined ? undefined : { address: '127.0.0.1', port: adminPort },
      environment: this.#program?.given ?? {},
    }
  }

  /** Starts it. What fails is a problem, and tried again. */
  start(): void {
    if (this.#ending.signal.aborted) return
    this.#running = this.#run(this.#ending.signal).catch((error: unknown) => this.#failed('prepare', error))
  }

  /** Has it look at the mesh again. */
  refresh(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.#refreshing = this.#refreshing.then(() => this.#refresh())
  }

  /** Takes it out of service, lets it finish what it does, and removes what was made for it. */
  async stop(): Promise<void> {
    this.#isLeaving = true
    this.#publish()
    if (this.#isServing()) await this.#drain()
    await this.stopProgram()
    await this.stopSidecar()
  }

  /**
   * Lets callers turn elsewhere: first until all sidecars know that it is out of service, however slow the controller is, and then as long as the driver says
   * that the sidecar drains at least. Not at once: a sidecar that drains accepts connections for a while only, and as long as others open some, there must
   * be somebody to answer them. Both together take no longer than the driver says.
   */
  async #drain(): Promise<void> {
    const { prepared } = this.#entered ?? {}
    const { maxDrainMs = Infinity, untilCallersKnow } = this.#services
    const drain = prepared?.patch.drain
    if (prepared === undefined || drain === undefined) return
    const wholeMs = Math.min(drain.maxMs, maxDrainMs)
    const limit = new Deadline(this.#hurry.signal, Math.max(0, wholeMs - drain.minMs))
    try {
      await untilCallersKnow(prepared.uuid, limit.signal)
    } finally {
      limit.release()
    }
    await this.#sidecar?.drain(this.#hurry.signal)
  }

  /** Ends the program. Nothing is started any more. */
  async stopProgram(): Promise<void> {
    this.#isLeaving = true
    this.#hurry.abort()
    this.#ending.abort()
    await this.#program?.end(PROGRAM_GRACE_MS)
  }

  /** Ends the sidecar and removes what was made for the instance. The program has ended before. */
  stopSidecar(): Promise<void> {
    this.#removing ??= this.#remove()
    return this.#removing
  }

  /** Resolves when nothing is left of it. */
  gone(): Promise<void> {
    return this.#gone.promise
  }

  async #remove(): Promise<void> {
    await this.#sidecar?.end(SIDECAR_GRACE_MS)
    await this.#running
    await this.#refreshing
    this.#file.remove()
    const placement = this.#entered?.placement
    if (placement !== undefined) {
      rmSync(placement.home.folder, { recursive: true, force: true })
      await placement.leave()
    }
    this.#problems.clear(...PLACES)
    this.#gone.resolve(undefined)
  }

  async #run(signal: AbortSignal): Promise<void> {
    const entered = await this.#enter(signal)
    if (entered === undefined || signal.aborted) return
    const { prepared, placement, address } = entered
    if (prepared === undefined) {
      await this.#runProgram(placement)
      return
    }
    const sidecar = new InstanceSidecar({
      desired: this.desired,
      prepared,
      placement,
      address,
      services: this.#services,
      problems: this.#problems,
      onChange: () => this.#changed(),
    })
    this.#sidecar = sidecar
    await Promise.all([sidecar.run(), this.#runBeside(sidecar, placement, signal)])
  }

  async #runBeside(sidecar: InstanceSidecar, placement: InstancePlacement, signal: AbortSignal): Promise<void> {
    await sidecar.untilReady()
    if (signal.aborted) return
    await this.#runProgram(placement)
    if (isAborted(signal)) return
    // A program that is done for good takes no traffic, and needs no sidecar.
    await sidecar.end(SIDECAR_GRACE_MS)
    this.#file.remove()
  }

  async #enter(signal: AbortSignal): Promise<Entered | undefined> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        this.#entered = await this.#prepare(signal)
        this.#problems.clear('prepare')
        // Before the sidecar starts: the controller must know it when it connects.
        this.#publish()
        return this.#entered
      } catch (error) {
        if (isAborted(signal)) return undefined
        this.#failed('prepare', error)
        // Rejects when the instance is to end; the loop then ends by its condition.
        await pause(backoffMs(failures, PREPARE_LIMITS, this.#services.random), undefined, { signal }).catch(
          () => undefined,
        )
      }
    }
    return undefined
  }

  async #prepare(signal: AbortSignal): Promise<Entered> {
    const { desired } = this
    const placement = await this.#services.placeInstance(desired, this.#snapshot)
    try {
      const prepared =
        desired.sidecarClass === undefined
          ? undefined
          : await prepareSidecar(desired, desired.sidecarClass, placement, this.#services, signal)
      const address = await placement.enter(prepared?.patch, signal)
      this.#view = await placement.refresh(this.#snapshot)
      this.#problems.set('placement', this.#view.problems)
      return { placement, address, prepared, createdAt: new Date(this.#services.clock.now()).toISOString() }
    } catch (error) {
      await placement.leave()
      throw error
    }
  }

  async #refresh(): Promise<void> {
    const { placement } = this.#entered ?? {}
    if (placement === undefined || this.#isLeaving) return
    try {
      this.#view = await placement.refresh(this.#snapshot)
      this.#problems.set('placement', this.#view.problems)
      this.#publish()
    } catch (error) {
      this.#problems.failed('placement', error, 'OSM_STANDALONE_PORTS')
    }
    this.#services.onChange()
  }

  async #runProgram(placement: InstancePlacement): Promise<void> {
    this.#program = new InstanceProgram({
      desired: this.desired,
      placement,
      services: this.#services,
      problems: this.#problems,
      view: () => this.#view,
      restartPolicy: () => this.#workload().spec.restartPolicy,
      onChange: () => this.#changed(),
    })
    await this.#program.run()
  }

  /** The workload as it is written down now: what of it may change without a new start. */
  #workload(): DesiredInstance['workload'] {
    const { namespace, workload } = this.desired
    return this.#snapshot.get('Workload', namespace, workload.metadata.name) ?? workload
  }

  /** No one has to learn of the end of an instance that no service leads to. */
  #isServing(): boolean {
    const { placement } = this.#entered ?? {}
    return placement !== undefined && servedPorts(this.#snapshot, this.#workload(), placement.ports).length > 0
  }

  #changed(): void {
    this.#publish()
    this.#services.onChange()
  }

  /** Writes down for the controller how the instance stands. */
  #publish(): void {
    const { placement, address, prepared, createdAt } = this.#entered ?? {}
    if (placement === undefined || address === undefined || prepared === undefined || createdAt === undefined) return
    if (this.#program?.isCompleted === true) return
    const { namespace, name, workload } = this.desired
    const { metadata, spec } = this.#workload()
    const { allocations } = this.#view
    this.#file.write({
      namespace,
      name,
      labels: metadata.labels,
      annotations: metadata.annotations,
      spec: {
        uuid: prepared.uuid,
        workload: workload.metadata.name,
        serviceAccountName: workload.spec.serviceAccountName,
        sidecarClass: prepared.sidecarClass,
        mode: placement.mode,
        ...instanceHostname(name),
        addresses: [address],
        ports: [...placement.ports],
        ...(allocations !== undefined && { allocations }),
        ...(spec.probes !== undefined && { probes: spec.probes }),
        ready: !this.#isLeaving && this.#program?.isListening === true && this.#sidecar?.isReady === true,
        ...(prepared.workloadApi !== undefined && { serviceCredential: 'workload-api' }),
        createdAt,
      },
    })
  }

  #failed(place: (typeof PLACES)[number], error: unknown): void {
    const detail = errorMessage(error)
    this.#problems.failed(place, error, 'OSM_STANDALONE_SIDECAR')
    // A retry with the same result is not reported again.
    if (detail === this.#detail) return
    this.#detail = detail
    this.#services.emit({
      type: 'workload',
      instance: this.desired.name,
      namespace: this.desired.namespace,
      state: 'failed',
      detail,
    })
    this.#services.onChange()
  }
}
