import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundleModule } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { run, runAttached } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { ensurePythonDriver, pythonDriver } from '../setup/driver-python.mjs'
import { compiler } from '../lib/type-check.mjs'

const kit = 'packages/driver-testkit'
const help =
  'Say which driver to try: npm run conformance -- --driver envoy, --driver pipy, or the folder of a package.'

/**
 * Tries a driver by the conformance suite. `--driver` takes the class of a driver of this checkout, the folder of a package, or the name of an installed one;
 * the other arguments are those of the suite's own program.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const at = args.indexOf('--driver')
  const given = at < 0 ? undefined : args[at + 1]
  if (given === undefined) throw new SetUpError(help)
  const own = `packages/driver-${given}`
  const isOwn = /^[a-z0-9-]+$/.test(given) && existsSync(join(root, own, 'tsconfig.build.json'))
  await compile(isOwn ? [kit, own] : [kit])
  const report = args.includes('--report')
    ? []
    : ['--report', `.cache/conformance/${given.replaceAll(/[^A-Za-z0-9-]+/g, '-')}`]
  const folder = isOwn ? own : await builtFolder(given)
  const others = [...args.slice(0, at), ...args.slice(at + 2), ...(await standInOf(own, args))]
  const program = join(root, kit, 'dist/conformance-main.js')
  return runAttached(process.execPath, [program, '--driver', folder, ...report, ...others])
}

/**
 * Drivers of this checkout keep what speaks for their proxies with their tests, as a package that is published would not.
 * @param {string} folder relative to the root
 * @param {readonly string[]} args
 */
async function standInOf(folder, args) {
  const source = join(folder, 'test/stand-in.ts')
  if (args.includes('--stand-in') || !existsSync(join(root, source))) return []
  const module = join(root, '.cache/conformance', `${folder.replaceAll('/', '-')}-stand-in.mjs`)
  await bundleModule(source, module)
  return ['--stand-in', module]
}

/**
 * The example in Python runs from the folder that it is built into, which set-up does.
 * @param {string} given
 */
async function builtFolder(given) {
  if (resolve(root, given) !== join(root, pythonDriver)) return given
  const folder = await ensurePythonDriver()
  if (folder === '') throw new SetUpError(`${given} can not be built here.`)
  return folder
}

/** @param {readonly string[]} projects folders relative to the root */
async function compile(projects) {
  const paths = projects.map((folder) => join(root, folder, 'tsconfig.build.json'))
  const { code, stdout, stderr } = await run(process.execPath, [compiler, '-b', '--pretty', 'false', ...paths])
  if (code !== 0) throw new SetUpError('The packages can not be compiled.', `${stdout.toString()}${stderr}`)
}
