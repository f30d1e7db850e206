import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { countJestReport } from './jest-counts.mjs'
import { localBin } from './paths.mjs'
import { runAttached } from './process.mjs'

/** Jest loads ES modules through an interface that Node still calls experimental, and says so in every worker. */
const nodeOptions = '--experimental-vm-modules --disable-warning=ExperimentalWarning'

/**
 * Runs the files of one tier of jest.config.mjs. What jest prints goes to standard error.
 * @param {string} tier
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
export async function runJest(tier, args, env) {
  const folder = await mkdtemp(join(tmpdir(), 'osm-ts-jest-'))
  try {
    const reportFile = join(folder, 'report.json')
    const all = { ...env, OSM_TEST_TIER: tier, NODE_OPTIONS: [process.env.NODE_OPTIONS, nodeOptions].join(' ').trim() }
    // --ci: a snapshot that is missing is a failure, not a file to write.
    const fixed = ['--ci', '--json', `--outputFile=${reportFile}`]
    const code = await runAttached(localBin('jest'), [...fixed, ...args], { env: all, stdoutToStderr: true })
    return countJestReport(await readReport(reportFile), code)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} path
 * @returns {Promise<import('./jest-counts.mjs').JestReport | undefined>}
 */
async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    // Jest ended before it wrote one; the counts say so.
    return undefined
  }
}
