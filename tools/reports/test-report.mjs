import { relative } from 'node:path'
import { countJestReport } from '../lib/jest-counts.mjs'
import { root } from '../lib/paths.mjs'

/** @typedef {import('../lib/counts.mjs').Counts} Counts */
/**
 * The part of jest's JSON report that is read here. Times are milliseconds.
 * @typedef {object} JestTest
 * @property {readonly string[]} ancestorTitles of the groups around it, from the outside in
 * @property {string} title
 * @property {string} status
 * @property {number | null} [duration]
 * @property {readonly string[]} [failureMessages]
 */
/**
 * @typedef {object} JestSuite
 * @property {string} name path of its file
 * @property {string} status
 * @property {string} [message] what is wrong with the file as a whole, or with its tests
 * @property {number} [startTime]
 * @property {number} [endTime]
 * @property {readonly JestTest[]} assertionResults
 */
/** @typedef {{ readonly startTime: number, readonly testResults: readonly JestSuite[] }} JestRun */

/**
 * @typedef {object} TestOutcome
 * @property {string} group the outermost group: the name of a test of OSM and what it is about, or a subject
 * @property {string} proves in one line
 * @property {'passed' | 'failed' | 'skipped'} outcome
 * @property {number} seconds
 * @property {readonly string[]} failures what went wrong
 * @property {readonly string[]} logs folders with what the cluster said when it failed
 */
/**
 * @typedef {object} FileOutcome
 * @property {string} file relative to the repository
 * @property {number} seconds of the whole file, with what its tests have in common
 * @property {string} [problem] what went wrong beside the tests: the file did not load, or its clean-up failed
 * @property {readonly TestOutcome[]} tests
 */
/**
 * @typedef {object} TestReport
 * @property {string} startedAt
 * @property {number} seconds
 * @property {Counts} counts
 * @property {unknown} subject versions and digests of what was tested; null when the run did not come to know them
 * @property {readonly FileOutcome[]} files in the order of their names
 */

const folderNote = /\(report: (?<folder>[^)\n]+)\)/g
// Jest colours what it says, no matter who reads it.
// eslint-disable-next-line no-control-regex
const colours = /\u001B\[[0-9;]*m/g

/**
 * How a failure says where more about it is.
 * @param {string} folder
 */
export function noteOfFolder(folder) {
  return `(report: ${folder})`
}

/**
 * What a run of tests is worth keeping.
 * @param {object} run
 * @param {JestRun | undefined} run.jest undefined when jest ended before it wrote one, because the cluster could not be made, for example
 * @param {number} run.exitCode
 * @param {unknown} run.subject
 * @param {Date} run.startedAt
 * @param {Date} run.endedAt
 * @returns {TestReport}
 */
export function testReport({ jest, exitCode, subject, startedAt, endedAt }) {
  const files = (jest?.testResults ?? []).map(fileOutcome).sort((a, b) => (a.file < b.file ? -1 : 1))
  const counts = countJestReport(jest, exitCode)
  const known = files.reduce((sum, file) => sum + failuresOf(file), 0)
  return {
    startedAt: startedAt.toISOString(),
    seconds: secondsOf(endedAt.getTime() - startedAt.getTime()),
    counts,
    subject: subject ?? null,
    files: counts.failed > known ? [...files, brokenRun(exitCode)] : files,
  }
}

/**
 * A failure that belongs to no file must be one for those who read nothing but the files.
 * @param {number} exitCode
 * @returns {FileOutcome}
 */
function brokenRun(exitCode) {
  const problem = `the run ended with ${exitCode} without saying why in a report; its output does`
  return { file: '', seconds: 0, problem, tests: [] }
}

/** @param {FileOutcome} file */
function failuresOf({ problem, tests }) {
  return tests.filter(({ outcome }) => outcome === 'failed').length + (problem === undefined ? 0 : 1)
}

/**
 * @param {JestSuite} suite
 * @returns {FileOutcome}
 */
function fileOutcome({ name, status, message = '', startTime = 0, endTime = 0, assertionResults }) {
  const tests = assertionResults.map(testOutcome)
  const brokeAsAWhole = status === 'failed' && tests.every(({ outcome }) => outcome !== 'failed')
  return {
    file: relative(root, name),
    seconds: secondsOf(endTime - startTime),
    ...(brokeAsAWhole && { problem: plain(message) }),
    tests,
  }
}

/**
 * @param {JestTest} test
 * @returns {TestOutcome}
 */
function testOutcome({ ancestorTitles, title, status, duration, failureMessages = [] }) {
  const failures = failureMessages.map(plain)
  const folders = failures.flatMap((text) => [...text.matchAll(folderNote)].map(({ groups }) => groups?.folder ?? ''))
  return {
    group: ancestorTitles[0] ?? '',
    proves: [...ancestorTitles, title].join(', '),
    outcome: status === 'passed' || status === 'failed' ? status : 'skipped',
    seconds: secondsOf(duration ?? 0),
    failures,
    logs: [...new Set(folders)],
  }
}

/** @param {string} text */
function plain(text) {
  return text.replaceAll(colours, '').trim()
}

/** @param {number} milliseconds */
function secondsOf(milliseconds) {
  return Math.max(0, Math.round(milliseconds)) / 1000
}
