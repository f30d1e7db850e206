import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import { noTests, sumCounts } from '../lib/counts.mjs'
import { root } from '../lib/paths.mjs'
import { say } from '../lib/progress.mjs'
import { conformanceCommand } from '../tasks/conformance.mjs'

/** @typedef {import('../lib/counts.mjs').Counts} Counts */

/**
 * What is tried: the arguments of `npm run conformance`. Class pipy has its own tier where there is a Pipy.
 * @type {readonly { readonly driver: string, readonly level: 0 | 1 }[]}
 */
const tried = [
  { driver: 'envoy', level: 1 },
  { driver: 'examples/driver-haproxy', level: 1 },
  { driver: 'pipy', level: 0 },
]

/**
 * Tries every driver of this checkout by the conformance suite, side by side: most of the time each waits for its mesh.
 * @param {NodeJS.ProcessEnv} env what set-up found
 * @returns {Promise<Counts>} what does not hold counts as failed; what a driver does not claim is not counted
 */
export async function tryDrivers(env) {
  const hasHaproxy = env.HAPROXY_BIN !== ''
  const commands = []
  try {
    for (const { driver, level } of tried) {
      const isPossible = hasHaproxy || !driver.endsWith('haproxy')
      if (!isPossible) say(`${driver} is tried without its proxy: there is no HAProxy`)
      const args = ['--driver', driver, '--level', String(isPossible ? level : 0)]
      commands.push({ driver, ...(await conformanceCommand(args)) })
    }
    const results = await Promise.all(commands.map((each) => tryOne(each, env)))
    return sumCounts([...results, { ...noTests, skipped: hasHaproxy ? 0 : 1 }])
  } finally {
    for (const { remove } of commands) remove()
  }
}

/**
 * @param {{ driver: string, command: readonly string[], report: string }} what
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Counts>}
 */
async function tryOne({ driver, command, report }, env) {
  const path = join(root, report, 'conformance.yaml')
  // What is there afterwards is of this run.
  rmSync(path, { force: true })
  const code = await runNamed(driver, command, env)
  return countReport(existsSync(path) ? readFileSync(path, 'utf8') : undefined, code)
}

/**
 * Counts what a report says.
 * @param {string | undefined} text undefined if none was written
 * @param {number} code with which the suite ended
 * @returns {Counts}
 */
export function countReport(text, code) {
  /** @type {Partial<Counts>} */
  const { passed = 0, failed = 0 } = text === undefined ? {} : parse(text).summary
  const isExplained = passed > 0 && (code === 0 || failed > 0)
  return { passed, failed: isExplained ? failed : failed + 1, skipped: 0 }
}

/**
 * Runs it with each of its lines named: others say something at the same time.
 * @param {string} name
 * @param {readonly string[]} command
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} the exit code
 */
async function runNamed(name, command, env) {
  const { HAPROXY_BIN: haproxy = '' } = env
  const path = [...(haproxy === '' ? [] : [dirname(haproxy)]), process.env.PATH].join(delimiter)
  const child = spawn(process.execPath, command, {
    cwd: root,
    env: { ...process.env, ...env, PATH: path },
    // Its table says again what its lines say.
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = () => child.kill('SIGTERM')
  const ignore = () => undefined
  process.on('SIGTERM', stop).on('SIGINT', ignore)
  createInterface({ input: child.stderr }).on('line', (line) => process.stderr.write(`${name}: ${line}\n`))
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code ?? 1))
    })
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', ignore)
  }
}
