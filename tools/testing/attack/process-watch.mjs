import { existsSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

const SAMPLE_MS = 5

/**
 * What a process says about itself since it was last asked.
 * @typedef {{ readonly longestBlockMs: number, readonly maxRssBytes: number }} ProcessFigures
 */

/**
 * Measures this process and tells its parent whenever that sends a message: the longest turn of the event loop, and the most resident memory. Ends this process when the parent has ended.
 *
 * A machine that is busy with other things keeps a process from its processors. What counts is the time that the thread of the event loop was at work while
 * nothing else had its turn, as the kernel knows it; where it does not say, no more than all threads have used.
 */
export function reportFigures() {
  const workedMs = threadClock()
  let [last, worked] = [performance.now(), workedMs()]
  let [longestBlockMs, maxRssBytes] = [0, 0]
  setInterval(() => {
    const [now, used] = [performance.now(), workedMs()]
    longestBlockMs = Math.max(longestBlockMs, Math.min(now - last, used - worked))
    maxRssBytes = Math.max(maxRssBytes, process.memoryUsage.rss())
    ;[last, worked] = [performance.now(), workedMs()]
  }, SAMPLE_MS)
  process.on('message', () => {
    /** @type {ProcessFigures} */
    const figures = { longestBlockMs, maxRssBytes }
    process.send?.(figures)
    ;[longestBlockMs, maxRssBytes] = [0, process.memoryUsage.rss()]
  })
  // A parent that is killed ends no child.
  process.once('disconnect', () => process.exit(1))
}

/**
 * Milliseconds of processor time that this thread has used.
 * @returns {() => number}
 */
function threadClock() {
  const path = '/proc/thread-self/schedstat'
  const ofThread = () => Number(readFileSync(path, 'latin1').split(' ')[0]) / 1e6
  const ofProcess = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  return existsSync(path) && ofThread() > 0 ? ofThread : ofProcess
}
