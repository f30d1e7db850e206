import { setMaxListeners } from 'node:events'

/**
 * Calls back when the signal aborts, at once if it has. Call the result to unsubscribe from the signal.
 *
 * The signals here live as long as the program and are shared by everything that runs in it, so that many listeners are no
 * sign of a leak and Node.js need not warn of them.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => undefined
  }
  setMaxListeners(0, signal)
  signal.addEventListener('abort', callback, { once: true })
  return () => signal.removeEventListener('abort', callback)
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve))
}
