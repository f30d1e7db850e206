import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countJestReport } from './jest-counts.mjs'
import { localBin } from './paths.mjs'

/** Jest loads ES modules through an interface that Node still calls experimental, and says so in every worker. */
const nodeOptions = '--experimental-vm-modules --disable-warning=ExperimentalWarning'

/** @typedef {(program: string, args: readonly string[], env: NodeJS.ProcessEnv) => Promise<number>} Execute returns the exit code */

/**
 * Runs the files of one tier of jest.config.mjs and counts its report.
 * @param {string} tier
 * @param {readonly string[]} args
 * @param {Execute} execute where the output goes is the caller's choice
 */
export async function runJest(tier, args, execute) {
  const { report, exitCode } = await runJestForReport(tier, args, execute)
  return countJestReport(report, exitCode)
}

/**
 * Runs the files of one tier of jest.config.mjs.
 * @param {string} tier
 * @param {readonly string[]} args
 * @param {Execute} execute
 * @returns {Promise<{ report: import('../reports/test-report.mjs').JestRun | undefined, exitCode: number }>} the report is undefined when
 *   jest ended before it wrote one
 */
export async function runJestForReport(tier, args, execute) {
  const folder = await mkdtemp(join(tmpdir(), 'osm-ts-jest-'))
  try {
    const reportFile = join(folder, 'report.json')
    const env = { OSM_TEST_TIER: tier, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${nodeOptions}`.trim() }
    // --ci: a snapshot that is missing is a failure, not a file to write.
    const exitCode = await execute(localBin('jest'), ['--ci', '--json', `--outputFile=${reportFile}`, ...args], env)
    return { report: await readReport(reportFile), exitCode }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} path
 * @returns {Promise<import('../reports/test-report.mjs').JestRun | undefined>}
 */
async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    // Jest ended before it wrote one; the counts say so.
    return undefined
  }
}
