import { setTimeout as sleepFor } from 'node:timers/promises'

/** Time, so that tests need not wait. */
export interface Clock {
  /** Milliseconds that never decrease. */
  now(): number
  /** Milliseconds since 1970. */
  wallTime(): number
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** At least 0 and below 1. */
  random(): number
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  sleep: async (ms, signal) => {
    await sleepFor(ms, undefined, { signal })
  },
  random: () => Math.random(),
}
