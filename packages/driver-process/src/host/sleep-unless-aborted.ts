import { setTimeout as delay } from 'node:timers/promises'

/** Waits without keeping the program alive. Resolves with false as soon as the signal aborts, else with true after the time. */
export async function sleepUnlessAborted(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  await delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined)
  return !signal.aborted
}
