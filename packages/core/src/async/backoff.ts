import type { Clock, Random } from '../certificates/clock.js'
import { onAbort } from './on-abort.js'

/** Between which a delay lies. */
export interface BackoffLimits {
  readonly firstMs: number
  readonly lastMs: number
}

/**
 * How long to wait after so many failures in a row: at random between the first delay and one that doubles with each
 * failure, so that those who failed together do not come back together.
 */
export function backoffMs(failures: number, { firstMs, lastMs }: BackoffLimits, random: Random): number {
  const upper = Math.min(lastMs, firstMs * 2 ** Math.max(1, failures))
  return firstMs + (upper - firstMs) * random()
}

/** Waits; ends at once when the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(() => {
      letGo()
      resolve()
    }, delayMs)
    const letGo = onAbort(signal, () => {
      cancel()
      resolve()
    })
  })
}
