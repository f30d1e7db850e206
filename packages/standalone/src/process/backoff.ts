/** How long to wait between attempts. */
export interface BackoffLimits {
  readonly firstMs: number
  readonly maxMs: number
  /** Something that ran for this long counts as well again. */
  readonly steadyMs: number
}

/** Pauses that double with every failure in a row. */
export class Backoff {
  readonly #limits: BackoffLimits
  #failures = 0

  constructor(limits: BackoffLimits) {
    this.#limits = limits
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  /** The pause before the next attempt, after one that lasted `ranMs`. */
  next(ranMs: number): number {
    const { firstMs, maxMs, steadyMs } = this.#limits
    this.#failures = ranMs >= steadyMs ? 1 : this.#failures + 1
    return Math.min(firstMs * 2 ** (this.#failures - 1), maxMs)
  }
}
