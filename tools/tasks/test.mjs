import { bundlePrograms } from '../lib/bundle.mjs'
import { tryDrivers } from '../testing/try-drivers.mjs'
import { keepCounts, partLine, reportCounts, sumCounts } from '../lib/counts.mjs'
import { runJest } from '../lib/jest.mjs'
import { runAttached } from '../lib/process.mjs'
import { say, timed } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { typeCheck } from '../lib/type-check.mjs'
import { writeUnitGroups } from '../lib/unit-groups.mjs'

/** @typedef {import('../lib/counts.mjs').Counts} Counts */
/** @typedef {(args: readonly string[], env: NodeJS.ProcessEnv) => Promise<Counts>} Tier */

/** @type {Readonly<Record<string, Tier>>} */
const tiers = {
  types: async () => {
    const { output, ...counts } = await typeCheck()
    process.stderr.write(output)
    return counts
  },
  // Anyone who names files wants each by itself; all of them take two thirds of the time in groups.
  unit: async (args, env) => {
    if (args.length > 0) return runJestVisibly('unit', args, env)
    await writeUnitGroups()
    return runJestVisibly('unit-groups', args, env)
  },
  integration: (args, env) => runJestVisibly('integration', args, env),
  attacks: (args, env) => runJestVisibly('attacks', args, env),
  dataplane: async (args, env) => {
    // The scenarios start the programs as their users do.
    await bundlePrograms()
    return runJestVisibly('dataplane', args, env)
  },
  // The scenarios of explicit mode among them, on each real proxy of this checkout.
  conformance: (_args, env) => tryDrivers(env),
}

/**
 * Runs the tiers named first in the arguments, or all, and passes what follows to jest.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args, { env }) {
  const firstOther = args.findIndex((arg) => !Object.hasOwn(tiers, arg))
  const chosen = firstOther === -1 ? args : args.slice(0, firstOther)
  const jestArgs = firstOther === -1 ? [] : args.slice(firstOther)
  const results = []
  for (const name of chosen.length > 0 ? chosen : Object.keys(tiers)) {
    const counts = await timed(`Tests: ${name}`, () => runTier(name, jestArgs, env))
    say(partLine(name, counts))
    results.push(counts)
    keepCounts(sumCounts(results))
  }
  const sum = sumCounts(results)
  reportCounts('tests', sum)
  return sum.failed === 0 ? 0 : 1
}

/**
 * Shows what jest prints on standard error: standard output belongs to the counts.
 * @param {string} name
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function runJestVisibly(name, args, env) {
  return runJest(name, args, (program, jestArgs, jestEnv) =>
    runAttached(program, jestArgs, { env: { ...env, ...jestEnv }, stdoutToStderr: true }),
  )
}

/**
 * @param {string} name
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Counts>}
 */
async function runTier(name, args, env) {
  const tier = /** @type {Tier} */ (tiers[name])
  try {
    return await tier(args, env)
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error
    say(error.message)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
