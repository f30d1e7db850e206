import { setMaxListeners } from 'node:events'

import type { Informer, InformerOptions } from '../informer-types.js'

/** Makes informers; with which API server they speak is its maker's business. */
export type InformerFactory = <T>(options: InformerOptions<T>) => Informer<T>

/** Runs an informer. Resolves with true when its first list is complete, and with false if its signal aborts before. */
export async function followed<T>(informer: Informer<T>, signal: AbortSignal): Promise<boolean> {
  try {
    await informer.start(signal)
    return true
  } catch (error) {
    if (signal.aborted) return false
    throw error
  }
}

/** A signal that aborts with the first of others, and that any number of informers may listen to. */
export function joinedSignal(...signals: readonly AbortSignal[]): AbortSignal {
  const joined = AbortSignal.any([...signals])
  setMaxListeners(0, joined)
  return joined
}
