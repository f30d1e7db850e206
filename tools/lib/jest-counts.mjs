import { sumCounts } from './counts.mjs'

/** @typedef {import('./counts.mjs').Counts} Counts */
/**
 * The part of jest's JSON report that is read here.
 * @typedef {{ status: string, assertionResults: readonly { status: string }[] }} SuiteReport
 * @typedef {{ testResults: readonly SuiteReport[] }} JestReport
 */

/**
 * Counts what jest reports. Jest says "0 failed" of a suite that could not be loaded or whose clean-up threw; here
 * each such suite is a failure. So is an exit code that no failure explains, and a run without a report or a test.
 * @param {JestReport | undefined} report
 * @param {number} exitCode
 * @returns {Counts}
 */
export function countJestReport(report, exitCode) {
  const counts = sumCounts((report?.testResults ?? []).map(countSuite))
  const isEmpty = counts.passed + counts.failed + counts.skipped === 0
  const isUnexplained = exitCode !== 0 && counts.failed === 0
  return isEmpty || isUnexplained ? { ...counts, failed: counts.failed + 1 } : counts
}

/**
 * @param {SuiteReport} suite
 * @returns {Counts}
 */
function countSuite({ status, assertionResults }) {
  const having = (/** @type {string} */ wanted) => assertionResults.filter((test) => test.status === wanted).length
  const passed = having('passed')
  const failed = having('failed')
  const brokeAsAWhole = status === 'failed' && failed === 0
  return { passed, failed: failed + (brokeAsAWhole ? 1 : 0), skipped: assertionResults.length - passed - failed }
}
