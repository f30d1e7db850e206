/** Says when to push a worker that lacks something: after a while, then less and less often, since a push costs it its counters. */
export class PushClock {
  readonly #afterMs: number
  readonly #maxMs: number
  #since: number | undefined
  #next = 0
  #interval = 0

  /**
   * @param afterMs - from the lack to the first push, and to the second
   * @param maxMs - between two pushes at most
   */
  constructor(afterMs: number, maxMs: number) {
    this.#afterMs = afterMs
    this.#maxMs = maxMs
  }

  /**
   * @param since - when the worker began to lack it
   * @returns true if it is time for a push, which then counts as done
   */
  due(since: number, now: number): boolean {
    if (this.#since !== since) {
      this.#since = since
      this.#interval = this.#afterMs
      this.#next = since + this.#afterMs
    }
    if (now < this.#next) return false
    this.#next = now + this.#interval
    this.#interval = Math.min(this.#interval * 2, this.#maxMs)
    return true
  }

  /** The worker lacks nothing. */
  reset(): void {
    this.#since = undefined
  }
}
