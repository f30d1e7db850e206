import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { build, stop } from 'esbuild'
import { bundleIsCurrent, stampBundle } from './bundle-stamp.mjs'
import { licencesOf, licenceTexts, packagesOfBundles } from './bundled-packages.mjs'
import { root } from './paths.mjs'
import { SetUpError } from './set-up-error.mjs'

const entry = 'packages/dashboard/src/page-main.tsx'
/** Files that a browser reads as they are, and the styles. */
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
  const styles = names.filter((name) => extname(name) === '.css')
  try {
    const { metafile } = await build({
      absWorkingDir: root,
      bundle: true,
      platform: 'browser',
      format: 'esm',
      target: 'es2022',
      logLevel: 'warning',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      minify: true,
      sourcemap: 'external',
      metafile: true,
      entryPoints: [
        { in: entry, out: 'page' },
        ...styles.map((name) => ({ in: join(beside, name), out: name.replace(/\.css$/, '') })),
      ],
      outdir: join(root, folder),
    })
    for (const name of names)
      if (!styles.includes(name)) copyFileSync(join(root, beside, name), join(root, folder, name))
    writeFileSync(join(root, licencesOf(bundle)), licenceTexts(packagesOfBundles([bundle])))
    const chunks = names.map((name) => `${folder}/${name}`)
    stampBundle(root, bundle, { entry, files: metafile.inputs, settings: key, chunks })
  } catch (error) {
    // esbuild has printed what is wrong, and where.
    throw new SetUpError(`Could not bundle ${entry}: ${error instanceof Error ? error.message : 'unknown error'}`)
  } finally {
    await stop()
  }
}
