import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { bundleIsCurrent, stampBundle } from './bundle-stamp.mjs'
import { licencesOf, licenceTexts, packagesOfBundles } from './bundled-packages.mjs'
import { root } from './paths.mjs'
import { run } from './process.mjs'
import { SetUpError } from './set-up-error.mjs'

const entry = 'packages/dashboard/src/page-main.tsx'
/** The document, its styles and its icon. */
const beside = 'packages/dashboard/page'
/** How the page is bundled. */
const scripts = ['tools/lib/bundle-page.mjs', 'tools/lib/vite-page.mjs']

/**
 * Bundles the page of `osm dashboard`, unless it is what it would be again.
 * @param {string} folder in which its files are put, below the root
 * @param {string} settings what decides all bundles beside their sources
 */
export async function bundlePage(folder, settings) {
  const bundle = `${folder}/page.js`
  const names = readdirSync(join(root, beside)).sort()
  const texts = [...scripts, ...names.map((name) => `${beside}/${name}`)].map((path) =>
    readFileSync(join(root, path), 'utf8'),
  )
  const key = JSON.stringify([settings, names, texts])
  if (bundleIsCurrent(root, bundle, key)) return
  rmSync(join(root, folder), { recursive: true, force: true })
  const sources = await buildPage(folder)
  writeFileSync(join(root, licencesOf(bundle)), licenceTexts(packagesOfBundles([bundle])))
  const chunks = names.map((name) => `${folder}/${name}`)
  const files = { [entry]: { imports: sources.map((path) => ({ path })) } }
  stampBundle(root, bundle, { entry, files, settings: key, chunks })
}

/**
 * @param {string} folder
 * @returns {Promise<string[]>} our own modules in the page, below the root
 */
async function buildPage(folder) {
  const script = join(root, 'tools/lib/vite-page.mjs')
  // Tests set another environment, in which Vite would leave checks for developers in.
  const env = { NODE_ENV: 'production' }
  const { code, stdout, stderr } = await run(process.execPath, [script, folder, beside], { env })
  process.stderr.write(stderr)
  if (code !== 0) throw new SetUpError(`Could not bundle ${entry}: Vite ended with exit code ${code}.`)
  /** @type {readonly string[]} */
  const modules = JSON.parse(stdout.toString())
  return modules.map((path) => relative(root, path)).filter((path) => path.startsWith('packages/'))
}
