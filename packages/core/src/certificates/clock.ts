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
