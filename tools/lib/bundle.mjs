import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, stop } from 'esbuild'
import { programs } from '../programs.mjs'
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
 * go: what several programs hold is read once.
 * @param {readonly string[]} [names] of tools/programs.mjs; all of them when left out
 * @returns {Promise<string[]>} the bundles' paths
 */
export async function bundlePrograms(names = Object.keys(programs)) {
  const chosen = names.map(programNamed)
  try {
    await build({
      absWorkingDir: root,
      entryPoints: chosen.map(({ entry, bundle }) => ({ in: entry, out: bundle.replace(/\.mjs$/, '') })),
      outdir: root,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      sourcemap: true,
      // Node keeps the text of a program in memory for as long as it runs, twice. Names stay, for stack traces.
      minifyWhitespace: true,
      minifySyntax: true,
      alias: sourceAliases(),
      define: await sourceDefinitions(),
      banner: { js: banner },
      logLevel: 'warning',
    })
  } catch {
    // esbuild has printed what is wrong, and where.
    throw new SetUpError(`Could not bundle ${chosen.map(({ entry }) => entry).join(', ')}.`)
  } finally {
    // Its process would keep everything that it has read for as long as this one runs.
    await stop()
  }
  for (const { folders = {} } of chosen) copyFolders(folders)
  return chosen.map(({ bundle }) => join(root, bundle))
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
 * What programs say of their sources; a date of the build itself would make every build another. Empty outside of git.
 * @returns {Promise<Record<string, string>>}
 */
async function sourceDefinitions() {
  const [commit, date] = await Promise.all([
    gitSays(['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']),
    gitSays(['log', '-1', '--format=%cI']),
  ])
  return { OSM_GIT_COMMIT: JSON.stringify(commit), OSM_BUILD_DATE: JSON.stringify(date) }
}

/** @param {readonly string[]} args */
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
function sourceAliases() {
  const names = readdirSync(join(root, 'packages')).filter((name) =>
    existsSync(join(root, 'packages', name, 'package.json')),
  )
  return Object.fromEntries(
    names.map((name) => [
      `@osm-ts/${name}`,
      join(root, 'packages', name, name === 'envoy-api' ? 'gen' : 'src/index.ts'),
    ]),
  )
}
