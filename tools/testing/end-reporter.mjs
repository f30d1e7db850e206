/** Longer than what ends after the tests takes, such as a cluster. */
const timeoutMs = 120_000

/**
 * Ends a run whose tests are over while something that they left open keeps the process, and says what kind of thing that is. Without it such a leak would use up the time of
 * everything that comes after.
 */
export default class EndReporter {
  onRunComplete() {
    const timer = setTimeout(() => {
      const open = [...new Set(process.getActiveResourcesInfo())].join(', ')
      process.stderr.write(`osm-ts: the tests are over, but something that they opened is still there: ${open}\n`)
      process.exit(1)
    }, timeoutMs)
    // Nothing is waited for where nothing is left.
    timer.unref()
  }
}
