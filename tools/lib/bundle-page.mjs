import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { bundleIsCurrent, stampBundle } from './bundle-stamp.mjs'
import { licencesOf, licenceTexts, packagesOfBundles } from './bundled-packages.mjs'
import { root } from './paths.mjs'
import { SetUpError } from './set-up-error.mjs'

const entry = 'packages/dashboard/src/page-main.tsx'
/** The document, its styles and its icon. */
const beside = 'packages/dashboard/page'

/**
 * Bundles the page of `osm dashboard`, unless it is what it would be again.
 * @param {string} folder in which its files are put, below the root
 * @param {string} settings what decides all bundles beside their sources
 */
export async function bundlePage(folder, settings) {
  const bundle = `${folder}/page.js`
  const names = readdirSync(join(root, beside)).sort()
  const texts = names.map((name) => readFileSync(join(root, beside, name), 'utf8'))
  const key = JSON.stringify([settings, readFileSync(join(root, 'tools/lib/bundle-page.mjs'), 'utf8'), names, texts])
  if (bundleIsCurrent(root, bundle, key)) return
  rmSync(join(root, folder), { recursive: true, force: true })
  try {
    const sources = sourcesIn(await buildPage(folder))
    writeFileSync(join(root, licencesOf(bundle)), licenceTexts(packagesOfBundles([bundle])))
    const chunks = names.map((name) => `${folder}/${name}`)
    const files = { [entry]: { imports: sources.map((path) => ({ path })) } }
    stampBundle(root, bundle, { entry, files, settings: key, chunks })
  } catch (error) {
    throw new SetUpError(`Could not bundle ${entry}: ${error instanceof Error ? error.message : 'unknown error'}`)
  }
}

/**
 * Names are fixed and nothing is inlined: the server of the page names its files, and its content security policy permits no other.
 * @param {string} folder
 */
async function buildPage(folder) {
  // Most builds find the page as it is, and need no Vite.
  const { build } = await import('vite')
  return build({
    root: join(root, beside),
    base: './',
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'error',
    build: {
      outDir: join(root, folder),
      emptyOutDir: true,
      target: 'es2022',
      sourcemap: 'hidden',
      assetsInlineLimit: 0,
      modulePreload: false,
      reportCompressedSize: false,
      rolldownOptions: {
        output: {
          entryFileNames: 'page.js',
          // Vite calls styles after the document.
          assetFileNames: ({ names }) => (names.some((name) => name.endsWith('.css')) ? 'page.css' : '[name][extname]'),
        },
      },
    },
  })
}

/**
 * Our own modules in a bundle.
 * @param {Awaited<ReturnType<typeof buildPage>>} made
 * @returns {string[]} paths below the root
 */
function sourcesIn(made) {
  if (!('output' in made)) throw new Error('expected one bundle')
  return made.output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .map((path) => relative(root, path))
    .filter((path) => path.startsWith('packages/'))
}
