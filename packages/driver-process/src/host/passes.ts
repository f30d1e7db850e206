import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds to wait after so many failures in a row: twice as long after each, up to a bound, and shorter by up to half, so that many do not come back at once.
 *
 * @param random - 0 to 1
 */
export function backoffMs(
  failures: number,
  times: { readonly firstMs: number; readonly maxMs: number },
  random: number,
): number {
  return Math.min(times.maxMs, times.firstMs * 2 ** (failures - 1)) * (0.5 + random / 2)
}

/** Waits without keeping the program alive. Resolves with false as soon as the signal aborts, else with true after the time. */
export async function passes(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
  return !signal.aborted
}
