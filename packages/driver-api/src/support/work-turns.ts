import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Spreads work over turns of the event loop. A change that all proxies see would otherwise translate for each of them in one go, while health probes,
 * acknowledgements and pings wait.
 */
export class WorkTurns {
  readonly #turnMs: number
  readonly #now: () => number
  #started = -Infinity
  #queue: Promise<void> = Promise.resolve()

  /**
   * @param turnMs - milliseconds of work in one turn
   * @param now - milliseconds of a clock that never goes back
   */
  constructor(turnMs: number, now: () => number = () => performance.now()) {
    this.#turnMs = turnMs
    this.#now = now
  }

  /** Runs the work in its turn. */
  async run<T>(work: () => T): Promise<T> {
    const turn = this.#queue.then(async () => {
      if (this.#now() - this.#started < this.#turnMs) return
      await nextTurn()
      this.#started = this.#now()
    })
    const result = turn.then(work)
    // A failure is its caller's; whoever comes next is not concerned.
    this.#queue = result.then(
      () => undefined,
      () => undefined,
    )
    return result
  }
}
