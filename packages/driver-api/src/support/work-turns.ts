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

  /** Runs the work in its turn. */
  async run<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work())
        } catch (error) {
          // A failure is its caller's; whoever comes next is not concerned.
          reject(error as Error)
        }
      })
      if (!this.#working) void this.#work()
    })
  }

  /** Never rejects: what it runs catches. */
  async #work(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      for (const work of batch) {
        if (this.#now() - this.#started >= this.#turnMs) {
          await nextTurn()
          this.#started = this.#now()
        }
        work()
        // What the work leads to belongs to its turn: it runs now, and its time counts.
        await Promise.resolve()
      }
    }
    this.#working = false
  }
}
