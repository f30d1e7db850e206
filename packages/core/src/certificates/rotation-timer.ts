import type { Clock } from './clock.js'

/** Times at which to look again, whatever the certificates say: in case the clock was set. */
const AT_MOST_MS = 60_000
/** Certificates that fall due close together are taken in one go. */
const AT_LEAST_MS = 250

/** Lets the rotation sleep until something is due: one timer, however many certificates there are. */
export class RotationTimer {
  readonly #clock: Clock
  #sleeper: { readonly until: number; wake(): void } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the first of the times has come, when {@link wakeBefore} says so, or when the signal aborts. */
  sleep(times: Iterable<number>, signal: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    let until = now + AT_MOST_MS
    for (const time of times) until = Math.min(until, time)
    until = Math.max(until, now + AT_LEAST_MS)
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleeper = undefined
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = this.#clock.setTimer(wake, until - now)
      signal.addEventListener('abort', wake, { once: true })
      this.#sleeper = { until, wake }
    })
  }

  /** Something falls due at that time; a sleep that would last longer ends now and is counted again. */
  wakeBefore(time: number): void {
    if (this.#sleeper !== undefined && time < this.#sleeper.until) this.#sleeper.wake()
  }
}
