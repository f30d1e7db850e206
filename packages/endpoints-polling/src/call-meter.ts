import { AsyncLocalStorage } from 'node:async_hooks'

import type { CallOutcome } from '@osm-ts/endpoints-api'

import type { Clock } from './clock.js'

/** Options of {@link CallMeter}. */
export interface CallMeterOptions {
  /** Calls beyond it wait. */
  readonly callsPerMinute: number
  readonly clock: Clock
  readonly count: (operation: string, outcome: CallOutcome) => void
}

/**
 * Counts and limits the calls of a provider to the API of its cloud. At most `callsPerMinute` start within any minute; the others wait in the order in which they came.
 */
export class CallMeter {
  readonly #options: CallMeterOptions
  readonly #counters = new AsyncLocalStorage<{ calls: number }>()
  /** When the calls of the last minute started, the oldest first. */
  #started: number[] = []
  #queue: Promise<void> = Promise.resolve()

  constructor(options: CallMeterOptions) {
    this.#options = options
  }

  /** Runs some work and says how many calls it made. */
  async measure<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly calls: number }> {
    const counter = { calls: 0 }
    const result = await this.#counters.run(counter, work)
    return { result, calls: counter.calls }
  }

  /** Resolves when the next call may start. Rejects when the signal aborts. */
  async admit(signal: AbortSignal): Promise<void> {
    const counter = this.#counters.getStore()
    if (counter !== undefined) counter.calls += 1
    const turn = this.#queue.then(async () => this.#waitForBudget(signal))
    // The next in the queue waits for this turn to end, whether or not it was aborted.
    this.#queue = turn.catch(() => undefined)
    await turn
  }

  /** Counts a call that has ended. */
  count(operation: string, outcome: CallOutcome): void {
    this.#options.count(operation, outcome)
  }

  async #waitForBudget(signal: AbortSignal): Promise<void> {
    const { callsPerMinute, clock } = this.#options
    signal.throwIfAborted()
    this.#started = this.#started.filter((time) => time > clock.now() - 60_000)
    const oldest = this.#started[this.#started.length - callsPerMinute]
    if (oldest !== undefined) await clock.sleep(Math.max(0, oldest + 60_000 - clock.now()), signal)
    this.#started.push(clock.now())
  }
}
