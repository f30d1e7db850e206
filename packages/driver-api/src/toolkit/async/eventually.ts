import { setTimeout as delay } from 'node:timers/promises'

/** How to wait in {@link eventually}. */
export interface WaitOptions<T> {
  /** Longest wait, in milliseconds. The default of two minutes is a bound that no load reaches. */
  readonly timeoutMs?: number
  /** Milliseconds between two questions; the default is 50. */
  readonly everyMs?: number
  /** What is waited for, for the error. */
  readonly what?: string
  /** Ends the wait; it rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Makes the error of a wait that takes too long. */
  readonly failure?: (last: T) => Error
}

/**
 * Asks again and again until the answer is accepted.
 *
 * @throws Error with the last answer, if none is accepted within two minutes or `timeoutMs`
 */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  accept: (answer: T) => boolean,
  { timeoutMs = 120_000, everyMs = 50, what = 'the expected answer', signal, failure }: WaitOptions<T> = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (accept(answer)) return answer
    if (performance.now() > deadline)
      throw (
        failure?.(answer) ?? new Error(`${what} did not come within ${timeoutMs} ms; last: ${JSON.stringify(answer)}`)
      )
    await delay(everyMs, undefined, { ...(signal !== undefined && { signal }) })
  }
}

/**
 * Waits until a condition holds.
 *
 * @throws Error as {@link eventually} does
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string = holds.toString(),
  options: Omit<WaitOptions<boolean>, 'what'> = {},
): Promise<void> {
  await eventually(holds, (isSo) => isSo, { everyMs: 4, ...options, what })
}
