import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { bundleModule, bundlePrograms } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { run, runAttached } from '../lib/process.mjs'
import { say } from '../lib/progress.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { ensurePythonDriver, pythonDriver } from '../setup/driver-python.mjs'
import { ensureEnvoy } from '../setup/envoy-binary.mjs'
import { compiler } from '../lib/type-check.mjs'

const kit = 'packages/driver-testkit'
const help =
  'Say which driver to try: npm run conformance -- --driver envoy, --driver pipy, or the folder of a package.'

/**
 * A driver as the suite wants to have it.
 * @typedef {object} Tried
 * @property {string} folder of its package
 * @property {string} proxy executable of its proxy; empty if none is known
 * @property {readonly string[]} more arguments of the suite's program
 * @property {string} [scratch] folder to remove afterwards
 */

/**
 * Tries a driver by the conformance suite. `--driver` takes the class of a driver of this checkout, the folder of a package, or the name of an installed one;
 * the other arguments are those of the suite's own program. Without `--level` it is 1 where the proxy is there, else 0.
 * @type {import('../run-task.mjs').Task}
 */
export async function task(args) {
  const { command, remove } = await conformanceCommand(args)
  try {
    return await runAttached(process.execPath, command)
  } finally {
    remove()
  }
}

/**
 * What Node.js is to run for the arguments of {@link task}, with everything made that it takes. One is made at a time: they share what they are compiled to.
 * @param {readonly string[]} args
 * @returns {Promise<{ command: readonly string[], report: string, remove: () => void }>} report is the folder of its report, relative to the root; remove clears away what was
 *   made for this one
 */
export async function conformanceCommand(args) {
  const at = args.indexOf('--driver')
  const given = at < 0 ? undefined : args[at + 1]
  if (given === undefined) throw new SetUpError(help)
  const { folder, proxy, more, scratch } = await tried(given, args)
  const remove = () => {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
  }
  try {
    const report = reportOf(given, args)
    const others = args.filter((_, index) => index !== at && index !== at + 1)
    const chosen = args.includes('--report') ? [] : ['--report', report]
    const rest = [...others, ...chosen, ...more, ...(await levelOf(given, proxy, args))]
    const command = [join(root, kit, 'dist/conformance-main.js'), '--driver', folder, ...rest]
    return { command, report, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * @param {string} given
 * @param {readonly string[]} args
 */
function reportOf(given, args) {
  const named = args.includes('--report') ? args[args.indexOf('--report') + 1] : undefined
  return named ?? `.cache/conformance/${given.replaceAll(/[^A-Za-z0-9-]+/g, '-')}`
}

/**
 * @param {string} given
 * @param {readonly string[]} args
 * @returns {Promise<Tried>}
 */
async function tried(given, args) {
  const own = `packages/driver-${given}`
  if (/^[a-z0-9-]+$/.test(given) && existsSync(join(root, own, 'tsconfig.build.json'))) {
    await compile([kit, own])
    const more = ['--built-in', ...(await standInOf(own, args))]
    return { folder: own, proxy: await ownProxy(given, args), more }
  }
  await compile([kit])
  if (resolve(root, given) === join(root, pythonDriver)) {
    const folder = await ensurePythonDriver()
    if (folder === '') throw new SetUpError(`${given} cannot be built here.`)
    return { folder, proxy: '', more: [] }
  }
  if (
    existsSync(join(root, given, 'src/index.ts')) &&
    relative(join(root, 'examples'), resolve(root, given))[0] !== '.'
  )
    return bundledExample(given)
  return { folder: given, proxy: '', more: [] }
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
 * Set-up has an Envoy; others are there if their variable names one.
 * @param {string} name of the class
 * @param {readonly string[]} args
 */
async function ownProxy(name, args) {
  if (name === 'envoy') return isLevel0(args) ? '' : ensureEnvoy()
  return process.env[`${name.toUpperCase().replaceAll('-', '_')}_BIN`] ?? ''
}

/**
 * An example is its own package whose dependencies are not installed in this checkout: it is tried as one module, with the program that it brings.
 * @param {string} given folder relative to the root
 * @returns {Promise<Tried>}
 */
async function bundledExample(given) {
  const { name, version, bin = {}, files = [] } = JSON.parse(readFileSync(join(root, given, 'package.json'), 'utf8'))
  const folder = mkdtempSync(join(tmpdir(), 'osm-conformance-'))
  // In transparent mode sidecars run as another user.
  chmodSync(folder, 0o711)
  await bundleModule(join(given, 'src/index.ts'), join(folder, 'index.mjs'))
  const standIn = join(given, 'src/stand-in.ts')
  const hasStandIn = existsSync(join(root, standIn))
  if (hasStandIn) await bundleModule(standIn, join(folder, 'stand-in.mjs'))
  for (const each of files)
    if (each !== 'dist') cpSync(join(root, given, each), join(folder, each), { recursive: true })
  const osmDriver = hasStandIn ? { standIn: './stand-in.mjs' } : undefined
  const manifest = { name, version, type: 'module', exports: './index.mjs', bin, osmDriver }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const [program = ''] = Object.values(bin)
  return { folder, proxy: program === '' ? '' : join(folder, program), more: [], scratch: folder }
}

/**
 * What the suite's program is told of level 1.
 * @param {string} given
 * @param {string} proxy
 * @param {readonly string[]} args
 */
async function levelOf(given, proxy, args) {
  if (isLevel0(args)) return []
  const named = args.includes('--proxy')
  if (proxy === '' && !named && !args.includes('--level')) {
    say(`level 1 is left out: there is no proxy for ${given}; --proxy names one`)
    return []
  }
  const level = args.includes('--level') ? [] : ['--level', '1']
  if (args.includes('--osm')) return [...level, ...(named || proxy === '' ? [] : ['--proxy', proxy])]
  const [osm = ''] = await bundlePrograms(['osm', 'controller', 'osm-driver-host'])
  return [...level, '--osm', osm, ...(named || proxy === '' ? [] : ['--proxy', proxy])]
}

/** @param {readonly string[]} args */
function isLevel0(args) {
  return args.includes('--level') && args[args.indexOf('--level') + 1] === '0'
}

/** @param {readonly string[]} projects folders relative to the root */
async function compile(projects) {
  const paths = projects.map((folder) => join(root, folder, 'tsconfig.build.json'))
  const { code, stdout, stderr } = await run(process.execPath, [compiler, '-b', '--pretty', 'false', ...paths])
  if (code !== 0) throw new SetUpError('The packages cannot be compiled.', `${stdout.toString()}${stderr}`)
}
