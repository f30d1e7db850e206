/** Bounds of a delay. */
export interface BackoffLimits {
  /** Least delay, in milliseconds. */
  readonly firstMs: number
  /** Greatest delay, in milliseconds. */
  readonly lastMs: number
}

/**
 * Milliseconds to wait after so many failures in a row: at random between the first delay and one that doubles with each
 * failure, so that those who failed together do not return together.
 *
 * @param random - returns numbers from 0 to 1
 */
export function backoffMs(failures: number, { firstMs, lastMs }: BackoffLimits, random: () => number): number {
  const upper = Math.min(lastMs, firstMs * 2 ** Math.max(1, failures))
  return firstMs + (upper - firstMs) * random()
}
