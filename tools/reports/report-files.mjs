import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { junitXml } from './junit.mjs'

/** Names the file into which a run of tests writes what it tests, as JSON. */
export const subjectVariable = 'OSM_TEST_SUBJECT'

/**
 * @param {string} path
 * @returns {unknown} undefined when the run did not get as far as that
 */
export function readSubject(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/**
 * Writes a report for programs: `report.json`, and `junit.xml` for those of continuous integration.
 * @param {string} folder
 * @param {string} name of the run
 * @param {import('./test-report.mjs').TestReport} report
 */
export function writeReports(folder, name, report) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, undefined, 2)}\n`)
  writeFileSync(join(folder, 'junit.xml'), junitXml(name, report))
}
