import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bundlePrograms } from '../lib/bundle.mjs'
import { licencesOf } from '../lib/bundled-packages.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { SetUpError } from '../lib/set-up-error.mjs'
import { compiler } from '../lib/type-check.mjs'
import { programs } from '../programs.mjs'

/** Published as they are compiled. Their dependencies are installed with them. */
export const libraries = [
  'driver-api',
  'endpoints-api',
  'endpoints-local',
  'endpoints-testkit',
  'driver-process',
  'driver-testkit',
  'create-driver',
]

/**
 * Published as bundles, by package: what a bundle holds need not be installed, and what overrides of the workspace have put into it stays there, since those do not travel.
 * The first program gives the package its command; the others lie beside it.
 * @type {Readonly<Record<string, readonly [string, ...string[]]>>}
 */
export const bundledPackages = {
  cli: ['osm', 'controller', 'osm-driver-host'],
  controller: ['osm-controller', 'osm-driver-host'],
  injector: ['osm-injector', 'osm-driver-host'],
}

/**
 * Compiles, bundles and packs everything that is published.
 * @param {string} folder that may be filled
 * @param {string} [repository] URL of the repository that manifests name; npm accepts provenance only with it
 * @returns {Promise<readonly string[]>} paths of the archives
 */
export async function packPackages(folder, repository) {
  const archives = await packLibraries(folder, repository)
  await bundlePrograms([...new Set(Object.values(bundledPackages).flat())])
  const staged = Object.entries(bundledPackages).map(([name, names]) => stage(join(folder, name), name, names))
  return [...archives, ...(await pack(await Promise.all(staged), join(folder, 'archives'), repository))]
}

/**
 * Compiles and packs what drivers are made of.
 * @param {string} folder that may be filled
 * @param {string} [repository]
 * @returns {Promise<readonly string[]>} paths of the archives
 */
export async function packLibraries(folder, repository) {
  const projects = libraries.map((name) => join(root, 'packages', name, 'tsconfig.build.json'))
  // Several checkers find types in an order that differs from run to run, and what is published must not.
  await mustRun(root, process.execPath, compiler, '-b', '--checkers', '1', '--pretty', 'false', ...projects)
  const archives = join(folder, 'archives')
  await mkdir(archives)
  return pack(
    libraries.map((name) => join(root, 'packages', name)),
    archives,
    repository,
  )
}

/**
 * @param {readonly string[]} folders
 * @param {string} archives
 * @param {string} [repository]
 * @returns {Promise<readonly string[]>}
 */
async function pack(folders, archives, repository) {
  const { packageManager } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const hooks = join(archives, '../pack-hooks.cjs')
  await writeFile(hooks, packHooks(repository))
  const settings = ['--json', '--pack-destination', archives, `--config.pnpmfile=${hooks}`]
  const packed = []
  for (const path of folders) {
    const said = await mustRun(path, 'npx', '--yes', packageManager, 'pack', ...settings)
    const { filename, files } = /** @type {{ filename: string, files: { path: string }[] }} */ (JSON.parse(said))
    const notes = files.filter((file) => file.path.endsWith('.tsbuildinfo'))
    if (notes.length > 0) throw new Error(`${filename} has notes of the compiler: ${notes[0]?.path}`)
    packed.push(filename)
  }
  return packed
}

/**
 * Has pnpm write the dependencies of a manifest in one order, since those of the workspace come in the order in which they were read, which differs from run to run.
 * Adds where the sources are. Manifests of the checkout name no repository: forks publish as well.
 * @param {string} [repository]
 */
function packHooks(repository) {
  const url = JSON.stringify(repository)
  const sources =
    repository === undefined
      ? ''
      : `
  homepage: ${url} + '#readme',
  bugs: { url: ${url} + '/issues' },
  repository: { type: 'git', url: 'git+' + ${url} + '.git', directory: manifest.name.replace(/^.*\\//, 'packages/') },`
  return `const sorted = (of) => of && Object.fromEntries(Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1)))
const beforePacking = (manifest) => ({
  ...manifest,
  dependencies: sorted(manifest.dependencies),
  devDependencies: sorted(manifest.devDependencies),
  peerDependencies: sorted(manifest.peerDependencies),${sources}
})
module.exports = { hooks: { beforePacking } }
`
}

/**
 * Writes the package of a program as it is published.
 * @param {string} folder
 * @param {string} name
 * @param {readonly [string, ...string[]]} names of tools/programs.mjs
 */
async function stage(folder, name, names) {
  await mkdir(join(folder, 'dist'), { recursive: true })
  for (const { bundle, chunks, page, folders = {} } of names.map((program) => programs[program] ?? missing(program))) {
    for (const path of [bundle, licencesOf(bundle)]) await cp(join(root, path), join(folder, 'dist', basename(path)))
    if (chunks !== undefined)
      await cp(join(root, chunks), join(folder, 'dist', basename(chunks)), {
        recursive: true,
        filter: (path) => !path.endsWith('.map'),
      })
    if (page !== undefined)
      await cp(join(root, page), join(folder, 'dist', basename(page)), {
        recursive: true,
        filter: (path) => !/\.(map|sources\.json)$/.test(path),
      })
    for (const to of Object.values(folders))
      await cp(join(root, to), join(folder, 'dist', basename(to)), { recursive: true })
  }
  const manifest = JSON.parse(await readFile(join(root, 'packages', name, 'package.json'), 'utf8'))
  const { version, description, license, keywords, type, engines } = manifest
  const bin = { [names[0]]: `./dist/${names[0]}.mjs` }
  const about = { name: manifest.name, version, description, license, keywords }
  const published = { ...about, type, engines, bin, files: ['dist'] }
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  await cp(join(root, 'packages', name, 'README.md'), join(folder, 'README.md'))
  return folder
}

/**
 * @param {string} program
 * @returns {never}
 */
function missing(program) {
  throw new Error(`tools/programs.mjs lists no program ${program}`)
}

/**
 * Runs a program that has to succeed.
 * @param {string} cwd
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<string>} what it said on standard output
 */
export async function mustRun(cwd, program, ...args) {
  const { code, stdout, stderr } = await run(program, args, { cwd })
  if (code === 0) return stdout.toString()
  throw new SetUpError(`"${program} ${args.join(' ')}" ended with ${code}.`, `${stdout.toString()}${stderr}`)
}
