import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterError } from './provider.js'

/** Asks again and again until the answer is a value; says what is still missing when that takes too long. */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  {
    timeoutMs,
    everyMs = 200,
    signal,
  }: { readonly timeoutMs: number; readonly everyMs?: number; readonly signal: AbortSignal },
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    signal.throwIfAborted()
    if (performance.now() > deadline) throw new ClusterError(`${what} did not come within ${timeoutMs / 1000} s`)
    await sleep(everyMs, undefined, { signal })
  }
}
