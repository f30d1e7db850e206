import { driverKey, type HealthProbes, isOsmError, OsmError, type StartedDriver } from '@osm-ts/driver-api'
import { askProbe } from '@osm-ts/driver-api/host'
import {
  allowedClasses,
  driverConfig,
  type DriverHost,
  type DriverRegistry,
  type MeshConfig,
  type MeshConfigurator,
  pause,
  type ProcessLogger,
  Semaphore,
  systemClock,
} from '@osm-ts/core'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

/** What {@link DriverRunner} needs. */
export interface DriverRunnerOptions {
  readonly registry: DriverRegistry
  readonly host: Pick<DriverHost, 'contextFor'>
  readonly configurator: Pick<MeshConfigurator, 'current'>
  readonly proxyServer: {
    readonly address: string
    readonly port: (sidecarClass: string, config: MeshConfig) => number
  }
  readonly logger: ProcessLogger
  readonly signal: AbortSignal
  /** Milliseconds that differ in tests. */
  readonly times?: RunnerTimes
}

interface RunnerTimes {
  /** How long a start of the controller waits for classes beside the default. What takes longer continues. */
  readonly startTimeoutMs: number
  /** Before a driver that did not start is started again, at first and at most. */
  readonly retry: { readonly firstMs: number; readonly lastMs: number }
}

const TIMES: RunnerTimes = { startTimeoutMs: 3_000, retry: { firstMs: 1_000, lastMs: 60_000 } }
/** Drivers that start at a time: more than a mesh has classes, so that those that hang leave room for others. */
const STARTS_AT_ONCE = 16
const MOST_CLASSES = 1_024

/** How far the proxy control plane of a class is. `failed` is tried again, `ended` is not. */
export type StartState =
  | { readonly state: 'starting' | 'started' }
  | { readonly state: 'failed' | 'ended'; readonly code: string; readonly message: string; readonly cause?: unknown }

/** What came of one start. */
type Attempt =
  | 'failed'
  | 'final'
  | {
      /** Resolves with true if the driver has ended by itself and has to be started again. */
      readonly failed: Promise<boolean>
    }

interface Served {
  state: StartState
  probes: HealthProbes | undefined
}

/** Starts the proxy control planes of the classes that MeshConfig allows, side by side, and knows their health. */
export class DriverRunner {
  readonly #options: DriverRunnerOptions
  readonly #times: RunnerTimes
  readonly #served = new Map<string, Served>()
  readonly #semaphore = new Semaphore(STARTS_AT_ONCE, MOST_CLASSES)
  #defaultClass = ''

  constructor(options: DriverRunnerOptions) {
    this.#options = options
    this.#times = options.times ?? TIMES
  }

  /**
   * Starts every allowed class. Resolves when each has started or failed once, or takes long; one that is part of the program and the default is waited for. A driver
   * that fails is logged and started again after a wait, until the signal aborts.
   *
   * @throws OsmError if the default class has no driver, or one that is part of the program and does not start
   */
  async start(): Promise<void> {
    const { registry, configurator, signal } = this.#options
    const config = configurator.current()
    this.#defaultClass = driverKey(config.sidecar.sidecarClass)
    // A package that is refused may be mended, and the other classes do not depend on it.
    if (registry.refusal(this.#defaultClass) === undefined) registry.install(this.#defaultClass)
    const firsts = new Map(allowedClasses(config).map((name) => [name, this.#begin(name)]))
    const enough = new AbortController()
    const timeout = pause(systemClock, this.#times.startTimeoutMs, AbortSignal.any([signal, enough.signal]))
    await Promise.race([Promise.all(firsts.values()), timeout])
    enough.abort()
    if (registry.facts(this.#defaultClass)?.origin !== 'built-in') return
    await firsts.get(this.#defaultClass)
    const { state } = this.#served.get(this.#defaultClass) ?? {}
    if (state?.state === 'failed') throw new OsmError(state.code, state.message, { cause: state.cause })
  }

  /** Classes whose proxy control plane was started, sorted. */
  classes(): readonly string[] {
    return [...this.#served].flatMap(([name, { probes }]) => (probes === undefined ? [] : [name])).sort()
  }

  /** How far each allowed class is that has a driver; undefined for one that MeshConfig did not allow when the controller started. */
  stateOf(name: string): StartState | undefined {
    return this.#served.get(driverKey(name))?.state
  }

  /** True if the proxy control plane of the default class answers its readiness probe. */
  async ready(): Promise<boolean> {
    return this.#ask('readiness', false)
  }

  /** True if the proxy control plane of the default class answers its liveness probe, or was not started yet: that no restart would help. */
  async alive(): Promise<boolean> {
    return this.#ask('liveness', true)
  }

  async #ask(which: keyof HealthProbes, unlessStarted: boolean): Promise<boolean> {
    const served = this.#served.get(this.#defaultClass)
    if (served?.state.state === 'ended') return false
    return served?.probes === undefined ? unlessStarted : askProbe(served.probes[which], this.#options.signal)
  }

  /** Resolves when the class was started once, whatever came of it. */
  async #begin(name: string): Promise<void> {
    void this.#keepRunning(name, await this.#tryToStart(name))
  }

  /** Starts a driver again after it failed to start, or ended by itself. Never rejects: each failure is logged where it happens. */
  async #keepRunning(name: string, first: Attempt): Promise<void> {
    const { signal } = this.#options
    let attempt = first
    for (let failures = 1; attempt !== 'final'; failures += 1) {
      if (attempt !== 'failed') {
        const since = performance.now()
        if (!(await attempt.failed)) return
        if (performance.now() - since > this.#times.retry.lastMs) failures = 1
      }
      await pause(systemClock, backoffMs(failures, this.#times.retry, Math.random), signal)
      if (signal.aborted) return
      attempt = await this.#tryToStart(name)
    }
  }

  /** Resolves with the running driver, with `final` if there will never be one, or with `failed` if it has to be tried again. */
  async #tryToStart(name: string): Promise<Attempt> {
    const { registry, logger, signal } = this.#options
    const known = this.#served.get(name)?.state
    const refusal = registry.refusal(name)
    // One that is refused for good was logged when it was; another may still come.
    if (refusal !== undefined) return refusal.final ? 'final' : 'failed'
    if (registry.facts(name) === undefined) {
      logger.warn({ driver: name }, 'MeshConfig allows a class that has no driver')
      return 'final'
    }
    try {
      return await this.#semaphore.run(
        () => this.#startOne(name),
        () => new Error(`more than ${MOST_CLASSES} drivers wait to be started`),
      )
    } catch (error) {
      const message = errorMessage(error)
      const failure = { code: isOsmError(error) ? error.code : 'OSM_DRIVER_START', message }
      this.#served.set(name, { state: { state: 'failed', ...failure, cause: error }, probes: undefined })
      registry.changed()
      const isNews = known?.state !== 'failed' || known.message !== message
      if (!signal.aborted && isNews)
        logger.warn(
          { driver: name, code: failure.code, reason: message },
          'a driver did not start; it is started again',
        )
      return 'failed'
    }
  }

  async #startOne(name: string): Promise<Attempt> {
    const { registry, host, configurator, proxyServer, logger, signal } = this.#options
    const own = new AbortController()
    const served: Served = { state: { state: 'starting' }, probes: undefined }
    this.#served.set(name, served)
    const config = configurator.current()
    const context = host.contextFor(registry.get(name), {
      address: proxyServer.address,
      port: proxyServer.port(name, config),
      driverConfig: driverConfig(config, name),
      logger: logger.child(`driver-${name}`),
      signal: AbortSignal.any([signal, own.signal]),
      onCancel: (reason) => {
        served.state = { state: 'ended', code: 'OSM_DRIVER_START', message: reason.message }
        registry.changed()
        logger.error({ driver: name, reason: reason.message }, 'a driver has ended itself')
        own.abort(reason)
      },
    })
    let started: StartedDriver
    try {
      started = await registry.start(context, name)
    } catch (error) {
      // What it has opened before it failed is in the way of the next start.
      own.abort(error)
      if (hasEnded(served)) return 'final'
      throw error
    }
    // From here on, so that no rejection is missed.
    const failed = this.#watchEnd(name, started.stopped, served, own)
    if (hasEnded(served)) return 'final'
    served.probes = started.probes
    served.state = { state: 'started' }
    if (name === this.#defaultClass) registry.install(name)
    registry.changed()
    logger.info({ driver: name }, 'proxy control plane started')
    return { failed }
  }

  /** Resolves with true if the driver has ended by itself and is closed; with false if it was stopped, or called `cancel`. */
  async #watchEnd(name: string, stopped: Promise<void>, served: Served, own: AbortController): Promise<boolean> {
    const { registry, logger, signal } = this.#options
    const reason: unknown = await stopped.then(
      () => undefined,
      (error: unknown) => error ?? new Error('no reason given'),
    )
    if (signal.aborted || hasEnded(served)) return false
    const why = reason === undefined ? '' : `: ${reason instanceof Error ? reason.message : JSON.stringify(reason)}`
    const failure = { code: 'OSM_DRIVER_STOPPED', message: `driver ${name} ended by itself${why}` }
    served.state = { state: 'failed', ...failure }
    served.probes = undefined
    // What it has left open is in the way of the next start.
    own.abort(reason)
    registry.changed()
    logger.error(
      { driver: name, code: failure.code, reason: failure.message },
      'a driver ended by itself; it is started again',
    )
    return true
  }
}

function hasEnded({ state }: Served): boolean {
  return state.state === 'ended'
}
