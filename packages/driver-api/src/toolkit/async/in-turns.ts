import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that can be interrupted wherever it yields, and what comes of it. */
export type Steps<T> = Generator<undefined, T>

/** How {@link inTurns} goes about its work. */
export interface TurnsOptions {
  /** Milliseconds of work before others have their turn. */
  readonly turnMs?: number
  /** Told of the milliseconds that each turn worked. */
  readonly onTurn?: (milliseconds: number) => void
}

const TURN_MS = 10

/**
 * Does work in as many turns of the event loop as it needs: between two of them probes, acknowledgements and handshakes are answered. No turn is longer than
 * {@link TurnsOptions.turnMs} and one step.
 *
 * @returns what comes of the work; undefined once the signal aborts
 * @throws what a step throws
 */
export async function inTurns<T>(
  steps: Steps<T>,
  signal: AbortSignal,
  { turnMs = TURN_MS, onTurn }: TurnsOptions = {},
): Promise<T | undefined> {
  while (!signal.aborted) {
    const start = performance.now()
    let step = steps.next()
    while (step.done !== true && performance.now() - start < turnMs) step = steps.next()
    onTurn?.(performance.now() - start)
    if (step.done === true) return step.value
    await nextTurn()
  }
  return undefined
}

/** Does all of the work now. */
export function atOnce<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}
