import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkCompatibility } from '../gen-compatibility.mjs'
import { checkCustomResources } from '../gen-crds.mjs'
import { checkChart } from '../chart/check-chart.mjs'
import { checkWorkflows } from '../ci/check-workflows.mjs'
import { hashInputs } from '../lib/cache.mjs'
import { partLine } from '../lib/counts.mjs'
import { checkErrorReference } from '../lib/error-reference.mjs'
import { checkFeatures } from '../lib/features.mjs'
import { runJest } from '../lib/jest.mjs'
import { checkPackageGraph } from '../lib/package-graph.mjs'
import { localBin, root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { formatSeconds } from '../lib/progress.mjs'
import { checkScenarioReference } from '../lib/scenario-reference.mjs'
import { checkSeedInterfaces } from '../lib/seed-interfaces.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { checkLinks } from '../lint/links.mjs'
import { writeUnitGroups } from '../lib/unit-groups.mjs'
import { checkUnusedMembers } from '../lib/unused-members.mjs'
import { checkProjectReferences } from '../lib/workspace.mjs'
import { checkPlainEnglish } from '../lint/plain-english.mjs'
import { checkChangesets } from '../release/changesets.mjs'

/** @typedef {{ readonly ok: boolean, readonly output: string }} StepResult output is shown when the step failed */
/** @typedef {(options: { fix: boolean }) => Promise<StepResult>} Step */

/** Type-aware linting and compiling are bound by memory as much as by cores; more at once gains nothing. */
const stepsAtOnce = 2

/**
 * In the order in which they start: the longest first, and the unit tests, which alone keep two cores busy to their end, last.
 * @type {Readonly<Record<string, Step>>}
 */
const steps = {
  lint: ({ fix }) => program('eslint', ['.', '--max-warnings=0', ...lintCache(), ...(fix ? ['--fix'] : [])]),
  // Errors of the compiler, and the rules that ask it for types, in one pass. `npm test` compiles by itself, which finds what is wrong with declarations alone.
  types: ({ fix }) => program('oxlint', fix ? ['--fix'] : []),
  format: ({ fix }) => program('prettier', ['.', fix ? '--write' : '--check', '--log-level=warn', '--cache']),
  unused: () => program('knip', ['--no-progress', '--no-config-hints']),
  // Knip does not see members of classes.
  members: async () => findings(checkUnusedMembers()),
  layers: () =>
    program('depcruise', [
      '--config',
      '.dependency-cruiser.mjs',
      '--output-type',
      'err-long',
      'packages',
      'tools',
      'fuzz',
      'examples',
      'e2e',
    ]),
  graph: async (options) => findings(checkPackageGraph(options)),
  errors: async (options) => findings(checkErrorReference(options)),
  features: async () => findings(checkFeatures()),
  seeds: async () => findings(checkSeedInterfaces()),
  scenarios: async (options) => findings(await checkScenarioReference(options)),
  compatibility: async (options) => findings(await checkCompatibility(options)),
  crds: async (options) => findings(await checkCustomResources(options)),
  projects: async (options) => findings(checkProjectReferences(options)),
  chart: async (options) => findings(await checkChart(options)),
  links: async () => findings(await checkLinks()),
  changesets: async () => findings(checkChangesets()),
  workflows: async () => findings(await checkWorkflows()),
  words: async () => findings(checkPlainEnglish()),
  unit: unitTests,
}

/**
 * Runs every check, or those named. With --fix, what can be mended is: one step after the other, because several
 * write the same files. With --no-unit, the unit tests are left to `npm test`.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const fix = args.includes('--fix')
  const withUnit = !args.includes('--no-unit')
  const named = args.filter((arg) => arg !== '--fix' && arg !== '--no-unit')
  const unknown = named.find((name) => !Object.hasOwn(steps, name))
  if (unknown !== undefined) throw new SetUpError(`no check "${unknown}"; there are ${Object.keys(steps).join(', ')}`)

  const start = performance.now()
  const queue = named.length > 0 ? named : Object.keys(steps).filter((name) => withUnit || name !== 'unit')
  const total = queue.length
  const lanes = Array.from({ length: fix ? 1 : stepsAtOnce }, () => runLane(queue, { fix }))
  const failed = (await Promise.all(lanes)).flat()
  const elapsed = formatSeconds(performance.now() - start)
  process.stdout.write(`check: ${total - failed.length} of ${total} steps passed in ${elapsed}\n`)
  if (failed.length > 0 && !fix) process.stdout.write('npm run check -- --fix mends what can be mended by a program.\n')
  return failed.length === 0 ? 0 : 1
}

/**
 * Takes steps from the queue until it is empty.
 * @param {string[]} queue shared by all lanes
 * @param {{ fix: boolean }} options
 * @returns {Promise<string[]>} the names of failed steps
 */
async function runLane(queue, options) {
  const failed = []
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const start = performance.now()
    const { ok, output } = await runStep(/** @type {Step} */ (steps[name]), options)
    const elapsed = formatSeconds(performance.now() - start)
    process.stdout.write(`${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(13)} ${elapsed}\n${ok ? '' : `${output.trim()}\n`}`)
    if (!ok) failed.push(name)
  }
  return failed
}

/**
 * A step that breaks is a step that failed: the others still have something to say.
 * @param {Step} step
 * @param {{ fix: boolean }} options
 * @returns {Promise<StepResult>}
 */
async function runStep(step, options) {
  try {
    return await step(options)
  } catch (error) {
    return { ok: false, output: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * @param {string} name of a program in node_modules/.bin
 * @param {readonly string[]} args
 * @returns {Promise<StepResult>}
 */
async function program(name, args) {
  const { code, stdout, stderr } = await run(localBin(name), args)
  return { ok: code === 0, output: `${stdout.toString()}${stderr}` }
}

/**
 * Findings in a file are kept until the file, the settings or the installed packages change; no rule of ESLint looks into another file.
 */
function lintCache() {
  const key = hashInputs([readFileSync(join(root, 'pnpm-lock.yaml'))])
  return ['--cache', '--cache-strategy=content', `--cache-location=node_modules/.cache/eslint/${key}`]
}

/**
 * A part of the runs of every property test, many files at once, and a worker more than steps at once, since tests wait for
 * timers a fourth of their time: what is sought here is a quick answer. `npm test` takes all runs, and the integration tests.
 * @returns {Promise<StepResult>}
 */
async function unitTests() {
  let output = ''
  await writeUnitGroups()
  const counts = await runJest('unit-groups', [`--maxWorkers=${stepsAtOnce + 1}`], async (jest, args, env) => {
    const { code, stderr } = await run(jest, args, { env: { OSM_PROPERTY_RUNS: '20', ...env } })
    output = stderr
    return code
  })
  return { ok: counts.failed === 0, output: `${output}\n${partLine('unit', counts)}` }
}

/**
 * @param {readonly string[]} found
 * @returns {StepResult}
 */
function findings(found) {
  return { ok: found.length === 0, output: found.join('\n') }
}
