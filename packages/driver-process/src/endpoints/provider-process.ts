import type { Logger, OsmError } from '@osm-ts/driver-api'
import { onAbort } from '@osm-ts/driver-api/toolkit'
import {
  ENDPOINTS_CONTRACT_VERSION,
  type CallOutcome,
  type CustomResource,
  type JsonObject,
  type ResourceKind,
  type ResourceRef,
  type ResourceStatus,
} from '@osm-ts/endpoints-api'

import { runChildProcess, type RunningChild, sleepUnlessAborted } from '../host/child-process.js'
import { processError } from '../wire/failure.js'
import { type FromProvider, type ProviderDeclaration, readFromProvider, type ToProvider } from './messages.js'
import type { ProviderEntry } from './provider-list.js'

/** Where the answers of a provider go. */
export interface ProviderSink {
  /** Takes in an unchecked answer. */
  publish(answer: unknown): void
  /** The provider fails. */
  fail(reason: string): void
  /** The process of the provider has ended. What is published next is of another one. */
  ended(reason: string): void
  /** The provider works again. */
  recover(): void
  countCall(operation: string, outcome: CallOutcome): void
  /** Takes in an unchecked status. */
  reportStatus(ref: ResourceRef, status: ResourceStatus | undefined): void
}

/** Objects of the kinds of a provider. */
export interface ResourceSource {
  list(): readonly CustomResource[]
  subscribe(listener: () => void): () => void
}

/** What a run of a provider needs. */
export interface ProviderRunOptions {
  readonly entry: ProviderEntry
  readonly sink: ProviderSink
  /** Verified copy of the package; absent for a built-in provider. */
  readonly folder: string | undefined
  /** Bundle of the program that serves a provider. */
  readonly program: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Faults of settings by the provider's schema, each with its field. */
  readonly checkSettings: (schema: JsonObject, settings: JsonObject) => readonly string[]
  /** Opens the objects of the kinds that the provider owns. */
  readonly resources: (provider: string, kinds: readonly ResourceKind[], signal: AbortSignal) => Promise<ResourceSource>
  readonly logger: Logger
  readonly signal: AbortSignal
  readonly limits?: Partial<ProviderLimits>
}

/** Times in milliseconds. */
export interface ProviderLimits {
  /** Until it has declared itself, and until it has started. */
  readonly startMs: number
  /** Between two questions whether it is alive. */
  readonly pingMs: number
  /** Without an answer to them, it is killed. */
  readonly silenceMs: number
  /** Until it has stopped; it is killed then. */
  readonly stopMs: number
}

const defaultLimits: ProviderLimits = { startMs: 30_000, pingMs: 5_000, silenceMs: 30_000, stopMs: 5_000 }
const RESIDENT_INTERVAL_MS = 1_000
const MAX_TEXT = 1_024

/**
 * Runs a provider in a process of its own. Resolves when the signal has aborted and the process is gone.
 *
 * @throws OsmError with code `OSM_ENDPOINTS_PLUGIN` if it cannot be started or ends by itself
 */
export async function runProvider(options: ProviderRunOptions): Promise<void> {
  const { entry, folder, program, environment, signal } = options
  const limits = { ...defaultLimits, ...options.limits }
  const what = folder === undefined ? ['--built-in-endpoints-provider', entry.name] : ['--endpoints-provider', folder]
  const child = runChildProcess({
    title: `endpoints provider ${entry.name}`,
    command: [process.execPath, `--max-old-space-size=${entry.heapMb}`, program, ...what],
    folder: folder ?? '/',
    environment,
    variables: entry.variables,
    residentMb: entry.residentMb,
    residentIntervalMs: RESIDENT_INTERVAL_MS,
    hasMessages: true,
  })
  const run = new ProviderRun(options, limits, child)
  try {
    await Promise.race([run.untilFailed(), child.ended.then((reason) => Promise.reject(failed(entry, reason.message)))])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await run.close()
  }
}

/** One process of a provider. */
class ProviderRun {
  readonly #options: ProviderRunOptions
  readonly #limits: ProviderLimits
  readonly #child: RunningChild
  readonly #over = new AbortController()
  #heardAt = performance.now()
  #declared: (declaration: ProviderDeclaration) => void = () => undefined
  #started: () => void = () => undefined
  #stopped: (failure: string) => void = () => undefined

  constructor(options: ProviderRunOptions, limits: ProviderLimits, child: RunningChild) {
    this.#options = options
    this.#limits = limits
    this.#child = child
    child.process.on('message', (value) => {
      this.#heardAt = performance.now()
      const message = readFromProvider(value)
      if (message === 'invalid') this.#stopped('it sent an invalid message')
      else if (message !== undefined) this.#take(message)
    })
  }

  async untilFailed(): Promise<void> {
    const { entry, signal, checkSettings, logger } = this.#options
    const stopped = new Promise<never>((_, reject) => {
      this.#stopped = (failure) => reject(failed(entry, failure))
    })
    const aborted = new Promise<void>((resolve) => onAbort(signal, () => resolve()))
    const run = async (): Promise<void> => {
      const declaration = await this.#inTime<ProviderDeclaration>('declare itself', (settle) => {
        this.#declared = settle
      })
      if (declaration.name !== entry.name)
        throw failed(entry, `the package is of provider ${declaration.name}; the list must name it so`)
      if (declaration.contractVersion !== ENDPOINTS_CONTRACT_VERSION)
        throw failed(
          entry,
          `it implements version ${declaration.contractVersion} of the contract; this host supports ${ENDPOINTS_CONTRACT_VERSION}`,
        )
      const faults = checkSettings(declaration.settingsSchema, entry.settings)
      if (faults.length > 0) throw failed(entry, `its settings are invalid: ${faults.join('; ')}`)
      const source = await this.#options.resources(entry.name, declaration.resourceKinds, this.#over.signal)
      const started = this.#inTime<true>('start', (settle) => {
        this.#started = () => settle(true)
      })
      this.#tell({ type: 'start', settings: entry.settings, resources: source.list() })
      const leave = source.subscribe(() => this.#tell({ type: 'resources', resources: source.list() }))
      onAbort(this.#over.signal, leave)
      await started
      logger.info({ provider: entry.name, version: declaration.version }, 'an endpoints provider runs')
      await this.#watch()
    }
    await Promise.race([run(), stopped, aborted])
  }

  /** Stops the provider and waits until its process is gone. */
  async close(): Promise<void> {
    this.#over.abort()
    this.#tell({ type: 'stop' })
    const giveUp = new AbortController()
    await Promise.race([this.#child.ended, sleepUnlessAborted(this.#limits.stopMs, giveUp.signal)])
    giveUp.abort()
    this.#child.kill()
    await this.#child.ended
  }

  async #watch(): Promise<void> {
    const { entry } = this.#options
    const { pingMs, silenceMs } = this.#limits
    while (await sleepUnlessAborted(pingMs, this.#over.signal)) {
      if (performance.now() - this.#heardAt > silenceMs)
        throw failed(entry, `it has not answered for ${silenceMs / 1000} s`)
      this.#tell({ type: 'ping' })
    }
  }

  async #inTime<T>(what: string, begin: (settle: (value: T) => void) => void): Promise<T> {
    const { startMs } = this.#limits
    const done = new AbortController()
    const value = new Promise<T>((resolve) => begin(resolve))
    const late = sleepUnlessAborted(startMs, AbortSignal.any([done.signal, this.#over.signal])).then((isLate) => {
      if (isLate) throw failed(this.#options.entry, `it did not ${what} within ${startMs / 1000} s`)
      return new Promise<never>(() => undefined)
    })
    try {
      return await Promise.race([value, late])
    } finally {
      done.abort()
    }
  }

  #take(message: FromProvider): void {
    const { sink, logger, entry } = this.#options
    if (this.#over.signal.aborted) return
    switch (message.type) {
      case 'declared':
        this.#declared(message.declaration)
        break
      case 'started':
        this.#started()
        break
      case 'published':
        sink.publish(message.answer)
        break
      case 'health':
        if (message.failure === undefined) sink.recover()
        else sink.fail(message.failure.slice(0, MAX_TEXT))
        break
      case 'status':
        sink.reportStatus(message.ref, message.status)
        break
      case 'called':
        sink.countCall(message.operation, message.outcome)
        break
      case 'logged':
        logger[message.level]({ ...message.fields, provider: entry.name }, message.message.slice(0, MAX_TEXT))
        break
      case 'stopped':
        this.#stopped(message.failure ?? 'it ended by itself')
        break
      case 'pong':
        break
    }
  }

  #tell(message: ToProvider): void {
    // A process that has just ended is noticed by its end.
    if (this.#child.process.connected) this.#child.process.send(message, () => undefined)
  }
}

function failed({ name }: ProviderEntry, reason: string): OsmError {
  return processError('OSM_ENDPOINTS_PLUGIN', `endpoints provider ${name}: ${reason}`, { provider: name })
}
