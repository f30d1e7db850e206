import { eventually } from '@osm-ts/driver-api/toolkit'
import { ClusterError } from './provider.js'

/** Asks again and again until the answer is a value; says what is still missing when that takes too long. */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  options: { readonly timeoutMs: number; readonly everyMs?: number; readonly signal: AbortSignal },
): Promise<T> {
  const answer = await eventually(ask, (each) => each !== undefined, {
    everyMs: 200,
    ...options,
    failure: () => new ClusterError(`${what} did not come within ${options.timeoutMs / 1000} s`),
  })
  return answer as T
}
