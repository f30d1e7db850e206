import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Spreads work over turns of the event loop. A change that all proxies see would otherwise translate for each of them in one go, while health probes,
 * acknowledgements and pings wait.
 */
export class WorkTurns {
  readonly #turnMs: number
  readonly #now: () => number
  #started = -Infinity
  #waiting: (() => void)[] = []
  #working = false

  /**
   * @param turnMs - milliseconds of work in one turn
   * @param now - milliseconds of a clock that never goes back
   */
  constructor(turnMs: number, now: () => number = () => performance.now()) {
    this.#turnMs = turnMs
    this.#now = now
  }

  /** Runs the work in its turn. A failure is passed to its caller and does not affect later work. */
  async run<T>(work: () => T): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      if (!this.#working) void this.#giveTurns()
    })
    return work()
  }

  async #giveTurns(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      for (const begin of batch) {
        if (this.#now() - this.#started >= this.#turnMs) {
          await nextTurn()
          this.#started = this.#now()
        }
        begin()
        // The work, and what it leads to, belongs to its turn: it runs now, and its time counts.
        await Promise.resolve()
      }
    }
    this.#working = false
  }
}
