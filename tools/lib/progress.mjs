/** Progress goes to standard error: standard output belongs to the task. */

/** @param {string} text */
export function say(text) {
  process.stderr.write(`osm-ts: ${text}\n`)
}

const heartbeatMilliseconds = 15_000

/**
 * Says what starts, that it is still going on, and how long it took. Call it only when there is something to do.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @param {() => string} [detail] how far it is
 * @returns {Promise<T>}
 */
export async function timed(what, work, detail) {
  const start = performance.now()
  say(`${what} …`)
  const elapsed = () => formatSeconds(performance.now() - start)
  const sayMore = () => say(`${what}: ${detail === undefined ? 'still at it' : detail()} after ${elapsed()}`)
  const heartbeat = setInterval(sayMore, heartbeatMilliseconds)
  try {
    const result = await work()
    say(`${what}: done in ${elapsed()}`)
    return result
  } finally {
    clearInterval(heartbeat)
  }
}

/** @param {number} milliseconds */
export function formatSeconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
