/** Progress goes to standard error: standard output belongs to the task. */

/** @param {string} text */
export function say(text) {
  process.stderr.write(`osm-ts: ${text}\n`)
}

/**
 * Says what starts and how long it took. Call it only when there is something to do.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function timed(what, work) {
  const start = performance.now()
  say(`${what} …`)
  const result = await work()
  say(`${what}: done in ${formatSeconds(performance.now() - start)}`)
  return result
}

/** @param {number} milliseconds */
export function formatSeconds(milliseconds) {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
