import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build, stop } from 'esbuild'
import { programs } from '../programs.mjs'
import { bundlePage } from './bundle-page.mjs'
import { bundleIsCurrent, stampBundle } from './bundle-stamp.mjs'
import { licencesOf, licenceTexts, packagesOfBundles } from './bundled-packages.mjs'
import { root } from './paths.mjs'
import { run } from './process.mjs'
import { SetUpError } from './set-up-error.mjs'

// Bundled CommonJS packages call require and look for files beside them; an ES module has neither name.
const banner = `import { createRequire as osmCreateRequire } from 'node:module'
import { dirname as osmDirname } from 'node:path'
import { fileURLToPath as osmFileURLToPath } from 'node:url'
const require = osmCreateRequire(import.meta.url)
const __filename = osmFileURLToPath(import.meta.url)
const __dirname = osmDirname(__filename)`

/**
 * Bundles programs straight from their TypeScript sources, so that no other compile step has to come first. All in one
 * go: what several programs hold is read once. Those that are what they would be again are left as they are.
 * @param {readonly string[]} [names] of tools/programs.mjs; all of them when left out
 * @returns {Promise<string[]>} the bundles' paths
 */
export async function bundlePrograms(names = Object.keys(programs)) {
  const chosen = names.map(programNamed)
  const definitions = await sourceDefinitions()
  const settings = bundleSettings(definitions)
  const stale = chosen.filter(({ bundle }) => !bundleIsCurrent(root, bundle, settings))
  if (stale.length > 0) await buildBundles(stale, definitions, settings)
  for (const { folders = {}, page } of chosen) {
    copyFolders(folders)
    if (page !== undefined) await bundlePage(page, settings)
  }
  return chosen.map(({ bundle }) => join(root, bundle))
}

/** @typedef {(typeof programs)[string]} Program */

/**
 * @param {readonly Program[]} chosen
 * @param {Record<string, string>} definitions
 * @param {string} settings
 */
async function buildBundles(chosen, definitions, settings) {
  const whole = chosen.filter(({ chunks }) => chunks === undefined)
  try {
    if (whole.length > 0) {
      const { inputs } = await buildOnce(whole, definitions)
      for (const { entry, bundle } of whole) {
        writeLicences(bundle, [])
        refuseOtherThanAscii(bundle)
        stampBundle(root, bundle, { entry, files: inputs, settings })
      }
    }
    for (const program of chosen) {
      const { entry, bundle, chunks } = program
      if (chunks === undefined) continue
      rmSync(join(root, chunks), { recursive: true, force: true })
      const { inputs, outputs } = await buildOnce([program], definitions, chunks)
      refuseNameless({ inputs, outputs })
      const parts = Object.keys(outputs).filter((path) => path.startsWith(`${chunks}/`) && path.endsWith('.mjs'))
      writeLicences(bundle, parts)
      stampBundle(root, bundle, { entry, files: inputs, settings, chunks: parts.sort() })
    }
  } catch (error) {
    if (error instanceof SetUpError) throw error
    // esbuild has printed what is wrong, and where.
    throw new SetUpError(`Could not bundle ${chosen.map(({ entry }) => entry).join(', ')}.`)
  } finally {
    // Its process would keep everything that it has read for as long as this one runs.
    await stop()
  }
}

/**
 * Licences ask that their texts travel with the code, and so do comments that name one. Programs of tests do not travel.
 * @param {string} bundle
 * @param {readonly string[]} chunks of it
 */
function writeLicences(bundle, chunks) {
  const comments = [bundle, ...chunks].map((path) => takeComments(join(root, `${path}.LEGAL.txt`)))
  if (bundle.startsWith('packages/'))
    writeFileSync(
      join(root, licencesOf(bundle)),
      [licenceTexts(packagesOfBundles([bundle, ...chunks])), ...comments].join(''),
    )
}

/**
 * What esbuild has put beside a bundle.
 * @param {string} path
 */
function takeComments(path) {
  if (!existsSync(path)) return ''
  const comments = readFileSync(path, 'utf8')
  rmSync(path)
  return `\n${'='.repeat(80)}\n${comments}`
}

/**
 * Node keeps the text of a program in memory, with two bytes for each character if one of them is not ASCII.
 * @param {string} bundle
 */
function refuseOtherThanAscii(bundle) {
  const found = /.{0,60}[^\0-\x7f].{0,60}/u.exec(readFileSync(join(root, bundle), 'utf8'))
  if (found !== null)
    throw new SetUpError(`${bundle} must have ASCII characters only, since others double its memory: ${found[0]}`)
}

/**
 * A chunk that is made of a CommonJS package alone exports it whole, as its default, and none of its names.
 * @param {import('esbuild').Metafile} made
 */
function refuseNameless({ inputs, outputs }) {
  for (const { entryPoint = '' } of Object.values(outputs))
    if (inputs[entryPoint]?.format === 'cjs')
      throw new SetUpError(
        `A program that is bundled in several files imports ${entryPoint} late, and would get nothing of it by name. ` +
          `Export what it needs from a module of our own, and import that.`,
      )
}

/**
 * @param {readonly Program[]} chosen
 * @param {Record<string, string>} definitions
 * @param {string} [chunks] where what is imported later is put; it is put into the bundle when left out
 */
async function buildOnce(chosen, definitions, chunks) {
  const { metafile } = await build({
    ...bundleOptions(),
    entryPoints: chosen.map(({ entry, bundle }) => ({ in: entry, out: bundle.replace(/\.mjs$/, '') })),
    outdir: root,
    outExtension: { '.js': '.mjs' },
    ...(chunks !== undefined && { splitting: true, chunkNames: `${chunks}/[name]-[hash]` }),
    sourcemap: true,
    // Node keeps the text of a program in memory for as long as it runs, twice. Names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    // Comments that name a licence may hold names of people, and so other characters than ASCII.
    legalComments: 'external',
    define: definitions,
    metafile: true,
  })
  return metafile
}

/**
 * Bundles one module of a package to wherever a test wants it: a separate program, or a package as a third party publishes it.
 * @param {string} entry below the root
 * @param {string} outfile
 * @param {readonly import('esbuild').Plugin[]} [plugins] that come before those of programs
 * @param {string} [head] in place of the names that CommonJS has, for packages that declare some of them themselves
 */
export async function bundleModule(entry, outfile, plugins = [], head = banner) {
  const options = { ...bundleOptions(), banner: { js: head } }
  try {
    await build({ ...options, plugins: [...plugins, ...(options.plugins ?? [])], entryPoints: [entry], outfile })
  } finally {
    await stop()
  }
}

const commonOptions = /** @type {const} @satisfies {import('esbuild').BuildOptions} */ ({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'warning',
})

/** @returns {import('esbuild').BuildOptions} */
function bundleOptions() {
  return {
    ...commonOptions,
    alias: sourceAliases(),
    banner: { js: banner },
    plugins: [required('node:http'), shaken('kube-config-library.ts', '@kubernetes/client-node', ['polyfill.js'])],
  }
}

/**
 * Has programs require a module of Node.js that they import. An import reads every export of a module at once; some of node:http make newer
 * versions of Node.js load an HTTP client, which takes longer than the rest of the module.
 * @param {string} name
 * @returns {import('esbuild').Plugin}
 */
function required(name) {
  return {
    name: `required ${name}`,
    setup(bundler) {
      bundler.onResolve({ filter: new RegExp(`^(${name}|${name.replace('node:', '')})$`) }, ({ kind }) =>
        kind === 'import-statement' ? { path: name, namespace: 'required' } : undefined,
      )
      bundler.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
        contents: `module.exports = require('${path}')`,
      }))
    },
  }
}

/**
 * Bundles a module that is imported late by itself first, with what it takes of one package. esbuild keeps such a module whole, and with it every module of
 * a package whose manifest does not say that they only export: of the library for Kubernetes one class is used, and 759 generated models would
 * stay. Other packages are left to the bundle, which may use them elsewhere.
 * @param {string} file the end of the module's path
 * @param {string} name of the package
 * @param {readonly string[]} effective modules of the package that do more than export
 * @returns {import('esbuild').Plugin}
 */
function shaken(file, name, effective) {
  return {
    name: `shaken ${name}`,
    setup(bundler) {
      bundler.onLoad({ filter: new RegExp(`${file.replaceAll('.', '\\.')}$`) }, async ({ path }) => {
        const { metafile, outputFiles } = await build({
          ...commonOptions,
          entryPoints: [path],
          write: false,
          metafile: true,
          // The map of the bundle then names the modules of the package: the bill of materials is read from it.
          sourcemap: 'inline',
          plugins: [onlyExports(name, effective)],
        })
        const [entry = ''] = Object.keys(metafile.inputs).filter((input) => input.includes(`/node_modules/${name}/`))
        return { contents: outputFiles[0]?.text ?? '', loader: 'js', resolveDir: dirname(join(root, entry)) }
      })
    },
  }
}

/**
 * @param {string} name of the package to bundle; its modules go where nothing of them is used
 * @param {readonly string[]} effective those that stay
 * @returns {import('esbuild').Plugin}
 */
function onlyExports(name, effective) {
  return {
    name: `only exports of ${name}`,
    setup(bundler) {
      bundler.onResolve({ filter: /./ }, async ({ path, kind, pluginData, ...from }) => {
        if (kind === 'entry-point' || pluginData === onlyExports) return undefined
        if (path !== name && !path.startsWith('.')) return { path, external: true }
        const resolved = await bundler.resolve(path, { ...from, kind, pluginData: onlyExports })
        return { ...resolved, sideEffects: effective.some((module) => path.endsWith(`/${module}`)) }
      })
    },
  }
}

/**
 * What decides a bundle beside its sources: how it is made, what is installed, and what programs say of their sources.
 * @param {Record<string, string>} definitions
 */
function bundleSettings(definitions) {
  const manifests = packageFolders().map((name) => join('packages', name, 'package.json'))
  const files = ['tools/lib/bundle.mjs', 'pnpm-lock.yaml', 'tsconfig.base.json', ...manifests]
  return JSON.stringify([definitions, ...files.map((path) => readFileSync(join(root, path), 'utf8'))])
}

/**
 * Copies what a program reads while it runs, without what only tests read.
 * @param {Readonly<Record<string, string>>} folders
 */
function copyFolders(folders) {
  for (const [from, to] of Object.entries(folders)) {
    rmSync(join(root, to), { recursive: true, force: true })
    cpSync(join(root, from), join(root, to), { recursive: true, filter: (path) => basename(path) !== 'testdata' })
  }
}

/**
 * What programs say of their sources, where a date of the build itself would make every build another, and the scripts
 * that they serve to sidecars.
 * @returns {Promise<Record<string, string>>}
 */
async function sourceDefinitions() {
  const [commit, date] = await Promise.all([
    gitSays(['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']),
    gitSays(['log', '-1', '--format=%cI']),
  ])
  return {
    OSM_GIT_COMMIT: JSON.stringify(commit),
    OSM_BUILD_DATE: JSON.stringify(date),
    // A string stays where it is used; of an object every entry of a bundle would get a copy.
    OSM_PIPY_CODEBASE: JSON.stringify(JSON.stringify(pipyCodebase())),
  }
}

/** The scripts of class pipy by path, as packages/driver-pipy reads them from a folder where it is not bundled. */
function pipyCodebase() {
  const folder = join(root, 'packages/driver-pipy/codebase')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const scripts = files.filter((path) => /^(?!.*\.test\.).*\.js$/.test(basename(path))).sort()
  return Object.fromEntries(scripts.map((path) => [`/${path}`, readFileSync(join(folder, path), 'utf8')]))
}

/**
 * Empty outside of git.
 * @param {readonly string[]} args
 */
async function gitSays(args) {
  if (!existsSync(join(root, '.git'))) return ''
  const { code, stdout } = await run('git', args)
  return code === 0 ? stdout.toString().trim() : ''
}

/** @param {string} name */
function programNamed(name) {
  const program = programs[name]
  if (program === undefined) throw new SetUpError(`tools/programs.mjs lists no program "${name}".`)
  if (existsSync(join(root, program.entry))) return program
  throw new SetUpError(
    `tools/programs.mjs lists ${program.entry} as the entry of "${name}", but there is no such file.`,
  )
}

/** Workspace packages resolve to their sources: their own exports name files that only a compiler makes. */
export function sourceAliases() {
  return {
    ...Object.fromEntries(
      packageFolders().map((name) => [
        `@osm-ts/${name}`,
        join(root, 'packages', name, name === 'envoy-api' ? 'gen' : 'src/index.ts'),
      ]),
    ),
    ...Object.fromEntries(
      ['host', 'policy', 'toolkit'].map((part) => [
        `@osm-ts/driver-api/${part}`,
        join(root, 'packages/driver-api/src', part, 'index.ts'),
      ]),
    ),
    ...Object.fromEntries(
      packageFolders()
        .map((name) => [`@osm-ts/${name}/testing`, join(root, 'packages', name, 'test/index.ts')])
        .filter(([, path = '']) => existsSync(path)),
    ),
    // Read by itself: see the exports of the package.
    '@osm-ts/program/build-version': join(root, 'packages/program/src/build-version.ts'),
  }
}

function packageFolders() {
  return readdirSync(join(root, 'packages')).filter((name) => existsSync(join(root, 'packages', name, 'package.json')))
}
