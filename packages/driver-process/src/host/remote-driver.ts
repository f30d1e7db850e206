import { setMaxListeners } from 'node:events'

import {
  type Capabilities,
  type ControllerContext,
  type DebugRequest,
  type DebugResponse,
  type Driver,
  type InjectorContext,
  isOsmError,
  type Logger,
  OsmError,
  type SidecarPatch,
  type StartedDriver,
} from '@osm-ts/driver-api'
import { canonicalJson } from '@osm-ts/driver-api/policy'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import { isFault, processError } from '../wire/failure.js'
import type { DeclaredDriver } from './declaration.js'
import type { OpenEndpoint } from './endpoint.js'
import { Generation } from './generation.js'
import { relayHealth } from './health-relay.js'
import { defaultLimits, type DriverLimits } from './limits.js'
import { sleepUnlessAborted } from './child-process.js'
import { RelayedTelemetry } from './relayed-telemetry.js'

/** What a {@link RemoteDriver} is made from. */
export interface RemoteDriverOptions {
  /** Sidecar class that the driver must be of. */
  readonly name: string
  /** That class, where {@link name} is only a name for people; empty: any. */
  readonly expected?: string
  readonly open: OpenEndpoint
  readonly limits?: Partial<DriverLimits>
  readonly logger: Logger
  /** 0 to 1, for the waits between starts. */
  readonly random: () => number
  /** Told whenever the status is another than before. Must not throw. */
  readonly onChange?: () => void
  /** Ends the driver and its process. */
  readonly signal: AbortSignal
}

/** State of a driver in another process. */
export interface RemoteDriverStatus {
  /** `running`: asked. `restarting`: its circuit is open; nothing is asked of it until it runs again. `stopped`: never again. */
  readonly state: 'running' | 'restarting' | 'stopped'
  /** How often it was started again. */
  readonly restarts: number
  /** Why it was, last. */
  readonly lastFailure?: { readonly code: string; readonly message: string }
}

interface Running {
  readonly context: ControllerContext
  readonly telemetry: RelayedTelemetry
  readonly mounted: Set<string>
}

/**
 * A driver in another process. What that process does wrong stays with it: calls end at their deadlines, a process that fails is started again after a wait, and until then
 * anyone who asks gets an error at once.
 */
export class RemoteDriver implements Driver {
  readonly #options: RemoteDriverOptions
  readonly #limits: DriverLimits
  readonly #declared: DeclaredDriver
  readonly #scope: AbortSignal
  /** Resolves when the signal has aborted and the process is gone. */
  readonly stopped: Promise<void>
  #current: Generation | undefined
  #running: Running | undefined
  #stopping: Promise<void> | undefined
  #restarts = 0
  #serial = 0
  #patching = 0
  #unanswered = 0
  /** False after a failure until a patch was answered: only one is requested at a time. */
  #proven = true
  #lastFailure: RemoteDriverStatus['lastFailure']

  private constructor(options: RemoteDriverOptions, limits: DriverLimits, first: Generation) {
    this.#options = options
    this.#limits = limits
    this.#declared = first.declared
    this.#scope = options.signal
    this.#current = first
    this.stopped = this.#supervise(first)
  }

  /**
   * Starts the process of a driver and asks it what it is.
   *
   * @throws OsmError with what keeps it from being used: `OSM_DRIVER_CONTRACT`, `OSM_DRIVER_INVALID`, `OSM_DRIVER_NAME`, `OSM_DRIVER_LOAD`, `OSM_DRIVER_TIMEOUT`,
   *   `OSM_DRIVER_EXITED`, `OSM_DRIVER_MEMORY`, `OSM_DRIVER_PROTOCOL`, `OSM_DRIVER_SOCKET`
   */
  static async connect(options: RemoteDriverOptions): Promise<RemoteDriver> {
    const limits = { ...defaultLimits, ...options.limits }
    setMaxListeners(0, options.signal)
    const endpoint = await options.open(options.signal)
    return new RemoteDriver(options, limits, await Generation.open(options, endpoint, limits, options.signal))
  }

  get name(): string {
    return this.#declared.name
  }

  get contract(): Driver['contract'] {
    return this.#declared.contract
  }

  get capabilities(): Capabilities {
    return this.#declared.capabilities
  }

  get configSchema(): Driver['configSchema'] {
    return this.#declared.configSchema
  }

  get oldestProxyVersion(): string {
    return this.#declared.oldestProxyVersion ?? ''
  }

  /** Version of the driver, for people; may be empty. */
  get version(): string {
    return this.#declared.version
  }

  get status(): RemoteDriverStatus {
    return {
      state: this.#scope.aborted ? 'stopped' : this.#current === undefined ? 'restarting' : 'running',
      restarts: this.#restarts,
      ...(this.#lastFailure === undefined ? {} : { lastFailure: this.#lastFailure }),
    }
  }

  /** @throws OsmError with the driver's own code, `OSM_DRIVER_UNAVAILABLE`, `OSM_DRIVER_TIMEOUT` or `OSM_DRIVER_PROTOCOL` */
  async patch(context: InjectorContext): Promise<SidecarPatch> {
    const generation = this.#require()
    const most = this.#proven ? this.#limits.patchesAtOnce : 1
    if (this.#patching >= most)
      throw processError(
        'OSM_DRIVER_UNAVAILABLE',
        `driver ${this.name} is asked for ${this.#patching} patches already; ${most === 1 ? 'it has just failed and' : 'it'} may be asked for ${most} at a time`,
      )
    this.#patching += 1
    try {
      const patch = await generation.client.patch(context)
      this.#answered()
      return patch
    } catch (error) {
      if (isFault(error)) this.#notAnswered(generation, error)
      else this.#answered()
      throw error
    } finally {
      this.#patching -= 1
    }
  }

  /**
   * Starts the proxy control plane. From then on a process that fails is started again with the same context, and its proxies count as disconnected.
   *
   * @throws OsmError with the driver's own code, `OSM_DRIVER_START`, `OSM_DRIVER_UNAVAILABLE`, `OSM_DRIVER_TIMEOUT` or `OSM_DRIVER_PROTOCOL`
   */
  async start(context: ControllerContext): Promise<StartedDriver> {
    if (this.#running !== undefined)
      throw new OsmError('OSM_DRIVER_START', `driver ${this.name} was started already`, {
        details: { driver: this.name },
      })
    const running = { context, telemetry: new RelayedTelemetry(context), mounted: new Set<string>() }
    this.#running = running
    // A start before this one may not be over yet.
    await this.#stopping
    let generation: Generation | undefined
    try {
      generation = this.#require()
      await this.#startIn(generation, running)
    } catch (error) {
      this.#running = undefined
      if (context.signal.aborted) await generation?.stop()
      // What it has begun no one knows.
      else generation?.fail(error)
      throw error
    }
    let hasEnded = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      hasEnded = resolve
    })
    const end = (): void => {
      this.#running = undefined
      this.#stopping = this.#current?.stop().catch((error: unknown) => {
        this.#options.logger.warn({ driver: this.name, reason: String(error) }, 'a driver did not stop cleanly')
      })
      void Promise.resolve(this.#stopping).then(hasEnded)
    }
    context.signal.addEventListener('abort', end, { once: true })
    if (context.signal.aborted) end()
    const probes = await relayHealth(() => this.#current?.probes, context.signal)
    // A process that fails is started again: only the end of the driver itself is one.
    return { probes, stopped: Promise.race([ended, this.stopped]) }
  }

  #require(): Generation {
    if (this.#current !== undefined && !this.#scope.aborted) return this.#current
    const why = this.#lastFailure === undefined ? '' : `: ${this.#lastFailure.message}`
    throw processError('OSM_DRIVER_UNAVAILABLE', `driver ${this.name} is ${this.status.state}${why}`, {
      driver: this.name,
    })
  }

  #answered(): void {
    this.#unanswered = 0
    this.#proven = true
  }

  #notAnswered(generation: Generation, error: Error): void {
    this.#unanswered += 1
    if (this.#unanswered >= this.#limits.unansweredPatches) generation.fail(error)
  }

  async #startIn(generation: Generation, { context, telemetry, mounted }: Running): Promise<void> {
    this.#serial += 1
    await generation.start(context, { telemetry, mounted, page: (request) => this.#page(request) }, this.#serial)
  }

  #page(request: DebugRequest): Promise<DebugResponse> {
    return this.#require().page(request)
  }

  /** Waits for the process to fail and starts the next one, until the signal aborts. */
  async #supervise(first: Generation): Promise<void> {
    const aborted = new Promise<undefined>((resolve) => {
      if (this.#scope.aborted) resolve(undefined)
      else this.#scope.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    let generation: Generation | undefined = first
    for (let failures = 0; ;) {
      let reason: Error | undefined
      if (generation !== undefined) {
        const since = performance.now()
        reason = await Promise.race([generation.failed, aborted])
        this.#current = undefined
        await generation.close().catch((error: unknown) => this.#note(error))
        if (performance.now() - since > this.#limits.stableMs) failures = 0
      }
      if (this.#scope.aborted) return
      if (reason !== undefined) this.#note(reason)
      failures += 1
      this.#proven = false
      this.#unanswered = 0
      if (!(await sleepUnlessAborted(this.#wait(failures), this.#scope))) return
      this.#restarts += 1
      generation = await this.#next()
    }
  }

  /** The next process, as far as the one before was; undefined if it fails on the way there. */
  async #next(): Promise<Generation | undefined> {
    const { open, signal, logger, onChange } = this.#options
    let generation: Generation | undefined
    try {
      generation = await Generation.open(this.#options, await open(signal), this.#limits, signal)
      this.#refuseAnother(generation.declared)
      const running = this.#running
      if (running !== undefined)
        await this.#startIn(generation, running).catch((error: unknown) => {
          if (!running.context.signal.aborted) throw error
        })
      // Anyone who has stopped it meanwhile did not find it.
      if (running !== undefined && this.#running !== running) await generation.stop()
      this.#current = generation
      onChange?.()
      logger.info({ driver: this.name, restarts: this.#restarts }, 'a driver runs again')
      return generation
    } catch (error) {
      await generation?.close().catch((failed: unknown) => this.#note(failed))
      if (!this.#scope.aborted) this.#note(error)
      return undefined
    }
  }

  /** Policies and pods were judged by what it could do. */
  #refuseAnother(declared: DeclaredDriver): void {
    const facts = ({ version: _version, ...all }: DeclaredDriver): string => canonicalJson(all)
    if (facts(declared) !== facts(this.#declared))
      throw processError(
        'OSM_DRIVER_CHANGED',
        `driver ${this.name} was started again and is another one: its name, contract, capabilities, configSchema or oldestProxyVersion changed; restart to take it`,
      )
  }

  #note(error: unknown): void {
    const message = errorMessage(error)
    const code = isOsmError(error) ? error.code : 'OSM_DRIVER_UNAVAILABLE'
    this.#lastFailure = { code, message }
    this.#options.logger.error({ driver: this.name, code, reason: message }, 'a driver has failed')
    this.#options.onChange?.()
  }

  #wait(failures: number): number {
    const { backoffMs: firstMs, backoffMaxMs: lastMs } = this.#limits
    return backoffMs(failures, { firstMs, lastMs }, this.#options.random)
  }
}
