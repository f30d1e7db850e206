import type { CustomResource, ProviderContext } from '@osm-ts/endpoints-api'

import type { CallMeter } from './call-meter.js'
import type { Clock } from './clock.js'
import type { Cloud, Selector } from './cloud.js'
import { answerOf, type Outcome } from './answer-of.js'
import { ResolveFailure } from './resolve-failure.js'
import { limitSelectors, type ReadResource, selectorsInTurn } from './read-resources.js'
import { statusOf } from './status-of.js'

/** How often a provider asks. */
export interface PollingOptions {
  /** Milliseconds from the end of a round to the start of the next. A tenth more or less, so that replicas do not ask at once. */
  readonly intervalMs: number
  readonly clock: Clock
}

/** Selectors that are resolved at once. */
const concurrency = 4
/** Longest wait after rounds that failed as a whole, and longest time for which an API is left alone. */
const longestWaitMs = 600_000
/** Time that changes of objects are collected for. */
const collectMs = 1000

/**
 * Asks a cloud where the machines of custom resources are: at once when objects change, and at intervals. A selector that fails keeps its last good instances and keeps no other
 * from being resolved.
 */
export class Poller<S> {
  readonly #cloud: Cloud<S>
  readonly #meter: CallMeter
  readonly #context: ProviderContext
  readonly #options: PollingOptions
  /** By key of the selector; those of the present objects only. */
  #outcomes = new Map<string, Outcome>()
  /** Until when a scope is left alone, and why. */
  readonly #paused = new Map<string, { readonly until: number; readonly failure: ResolveFailure }>()
  /** Objects whose status was reported. */
  #reported = new Map<string, CustomResource>()
  #failedRounds = 0

  constructor(cloud: Cloud<S>, meter: CallMeter, context: ProviderContext, options: PollingOptions) {
    this.#cloud = cloud
    this.#meter = meter
    this.#context = context
    this.#options = options
  }

  /** Asks until the signal aborts. Rejects with nothing else. */
  async run(): Promise<void> {
    const { signal, resources } = this.#context
    const { clock } = this.#options
    let wake = new AbortController()
    const unsubscribe = resources.subscribe(() => {
      wake.abort()
    })
    try {
      let dueAt = Number.NEGATIVE_INFINITY
      while (!signal.aborted) {
        wake = new AbortController()
        // Objects that change all the time do not put off the round of all.
        const onlyNew = clock.now() < dueAt
        // oxlint-disable-next-line no-await-in-loop -- rounds follow each other
        const waitMs = await this.#round(onlyNew)
        if (!onlyNew) dueAt = clock.now() + waitMs
        // oxlint-disable-next-line no-await-in-loop
        await this.#wait(dueAt - clock.now(), wake.signal)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      unsubscribe()
    }
  }

  /** Waits for the next round, or for objects to change. */
  async #wait(ms: number, changed: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#context
    try {
      await clock.sleep(Math.max(0, ms), AbortSignal.any([signal, changed]))
    } catch (error) {
      if (signal.aborted || !changed.aborted) throw error
      await clock.sleep(collectMs, signal)
    }
  }

  /** One round. Returns the time from its end to the next round of all selectors. */
  async #round(onlyNew: boolean): Promise<number> {
    const { clock, intervalMs } = this.#options
    const objects = limitSelectors(
      this.#context.resources.list().map((resource) => ({ resource, selectors: this.#cloud.selectors(resource) })),
    )
    await this.#resolveAll(this.#dueSelectors(objects, onlyNew))
    this.#context.signal.throwIfAborted()
    const outcomes = [...this.#outcomes.values()]
    const isFailing = outcomes.length > 0 && outcomes.every(({ failure }) => failure?.isUncertain === true)
    if (!isFailing) this.#failedRounds = 0
    else if (!onlyNew) this.#failedRounds += 1
    const longest = Math.max(longestWaitMs, intervalMs)
    const waitMs = Math.min(intervalMs * 2 ** Math.max(0, Math.min(this.#failedRounds, 10) - 1), longest)
    const jittered = Math.round(waitMs * (0.9 + clock.random() * 0.2))
    this.#tell(objects, isFailing ? outcomes[0]?.failure : undefined, jittered)
    return jittered
  }

  #dueSelectors(objects: readonly ReadResource<S>[], onlyNew: boolean): readonly Selector<S>[] {
    const selectors = selectorsInTurn(objects)
    const keys = new Set(selectors.map(({ key }) => key))
    this.#outcomes = new Map([...this.#outcomes].filter(([key]) => keys.has(key)))
    return selectors.filter(({ key }) => !onlyNew || !this.#outcomes.has(key))
  }

  async #resolveAll(due: readonly Selector<S>[]): Promise<void> {
    const round = this.#cloud.startRound(this.#context.signal)
    const queue = [...due]
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const selector = next
        // oxlint-disable-next-line no-await-in-loop -- a bounded number of workers share the queue
        const { result, calls } = await this.#meter.measure(async () =>
          this.#resolve(selector, (value) => round.resolve(value)),
        )
        const last = this.#outcomes.get(selector.key)
        const instances = result instanceof ResolveFailure ? (result.isUncertain ? last?.instances : []) : result
        const failure = result instanceof ResolveFailure ? result : undefined
        const resolvedAt = failure === undefined ? this.#options.clock.wallTime() : last?.resolvedAt
        this.#outcomes.set(selector.key, { instances, failure, calls, resolvedAt })
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, queue.length) }, worker))
  }

  async #resolve(
    { scope, value }: Selector<S>,
    resolve: (value: S) => Promise<Outcome['instances'] & object>,
  ): Promise<(Outcome['instances'] & object) | ResolveFailure> {
    const { clock } = this.#options
    const pause = this.#paused.get(scope)
    if (pause !== undefined && pause.until > clock.now()) return pause.failure
    this.#paused.delete(scope)
    try {
      return await resolve(value)
    } catch (error) {
      this.#context.signal.throwIfAborted()
      if (!(error instanceof ResolveFailure)) {
        // A message of unknown origin may hold a secret.
        const name = error instanceof Error ? error.name : typeof error
        return new ResolveFailure('Unavailable', `the request failed with ${name}`)
      }
      if (error.retryAfterMs !== undefined) {
        this.#paused.set(scope, { until: clock.now() + Math.min(error.retryAfterMs, longestWaitMs), failure: error })
      }
      return error
    }
  }

  #tell(objects: readonly ReadResource<S>[], failure: ResolveFailure | undefined, waitMs: number): void {
    const context = this.#context
    context.publish(answerOf(objects, this.#outcomes))
    if (failure === undefined) context.report({ state: 'ok' })
    else context.report({ state: 'failing', message: `${failure.code}: ${failure.message}`, retryInMs: waitMs })
    const before = this.#reported
    this.#reported = new Map()
    for (const object of objects) {
      const { kind, namespace, name } = object.resource
      const key = `${kind}/${namespace}/${name}`
      this.#reported.set(key, object.resource)
      before.delete(key)
      context.reportStatus({ kind, namespace, name }, statusOf(object, this.#outcomes, this.#options.intervalMs))
    }
    for (const { kind, namespace, name } of before.values()) context.reportStatus({ kind, namespace, name }, undefined)
  }
}
