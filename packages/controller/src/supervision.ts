import { setTimeout as delay } from 'node:timers/promises'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

/** Longest time that streams of proxies get to end after they were told to. */
const DRAIN_MS = 5000
const DRAIN_STEP_MS = 20

/** The result of the promise, or the reason of the signal if that aborts first. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = new AbortController()
  const aborted = new Promise<never>((_resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error)
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true, signal: ended.signal })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    ended.abort()
  }
}

/** Resolves when the signal aborts; rejects as soon as one of the loops does. */
export async function joinLoops(signal: AbortSignal, loops: readonly Promise<void>[]): Promise<void> {
  const aborted = untilAborted(signal)
  await Promise.race([aborted, ...loops.map((loop) => loop.then(() => aborted))])
}

/** Resolves when no proxy is connected any more, or has had its time: ended streams send their proxies to another replica. */
export async function drained(connected: () => number): Promise<void> {
  const end = performance.now() + DRAIN_MS
  while (connected() > 0 && performance.now() < end) await delay(DRAIN_STEP_MS)
}
