// The loop that all clients share.
import { setTimeout as pause } from 'node:timers/promises'
import { stopSignal } from './stop.mjs'

/**
 * Runs `round` again and again until the program is told to stop: every INTERVAL_MS (1000), CONCURRENCY (1) of them side by side.
 */
export async function repeat(round) {
  const interval = wholeNumber('INTERVAL_MS', 1000, 0)
  const lanes = wholeNumber('CONCURRENCY', 1, 1)
  const signal = stopSignal()
  await Promise.all(Array.from({ length: lanes }, () => runLane(round, interval, signal)))
}

async function runLane(round, interval, signal) {
  while (!signal.aborted) {
    const started = performance.now()
    await round(signal)
    // Rejects when the program is told to stop; the loop then ends by its condition.
    await pause(Math.max(0, interval - (performance.now() - started)), undefined, { signal }).catch(() => undefined)
  }
}

function wholeNumber(name, fallback, least) {
  const text = process.env[name] ?? String(fallback)
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
  throw new Error(`${name}=${text}: write a whole number, ${least} or more`)
}
