import { onAbort } from '@osm-ts/driver-api/toolkit'

/** Time as the certificate manager sees it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls back once, after at least `delayMs`; the returned function cancels that. */
  setTimer(callback: () => void, delayMs: number): () => void
}

/** Uniformly distributed over [0, 1). Spreads work over time; nothing secret is made of it. */
export type Random = () => number

/** The machine's clock. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer: (callback: () => void, delayMs: number) => {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
})

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
