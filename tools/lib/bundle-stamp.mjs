import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashInputs } from './cache.mjs'

/**
 * What esbuild tells of the files that it has read, by their paths.
 * @typedef {Readonly<Record<string, { readonly imports: readonly { readonly path: string, readonly external?: boolean }[] }>>} ReadFiles
 */

/**
 * True when a bundle is what making it again would give: the same sources, settings and installed packages.
 * @param {string} folder in which all paths are
 * @param {string} bundle
 * @param {string} settings everything else that decides what is in it
 */
export function bundleIsCurrent(folder, bundle, settings) {
  try {
    const { sources, chunks, key } = JSON.parse(readFileSync(stampOf(folder, bundle), 'utf8'))
    return key === keyOf(folder, [bundle, ...chunks, ...sources], settings)
  } catch {
    // No stamp, no bundle, or a chunk or source that is gone.
    return false
  }
}

/**
 * Remembers from what a bundle was made.
 * @param {string} folder
 * @param {string} bundle
 * @param {{ entry: string, files: ReadFiles, settings: string, chunks?: readonly string[] }} made chunks: files that belong to the bundle
 */
export function stampBundle(folder, bundle, { entry, files, settings, chunks = [] }) {
  const sources = sourcesOf(entry, files).filter((path) => existsSync(join(folder, path)))
  const key = keyOf(folder, [bundle, ...chunks, ...sources], settings)
  writeFileSync(stampOf(folder, bundle), JSON.stringify({ sources, chunks, key }))
}

/**
 * Everything that an entry imports, directly or not, in order. Installed packages are left out: the lock file says what is in them.
 * @param {string} entry
 * @param {ReadFiles} files
 */
export function sourcesOf(entry, files) {
  const seen = new Set([entry])
  for (const path of seen) {
    for (const imported of files[path]?.imports ?? []) {
      if (imported.external !== true && !imported.path.includes('node_modules/')) seen.add(imported.path)
    }
  }
  return [...seen].sort()
}

/**
 * @param {string} folder
 * @param {readonly string[]} paths
 * @param {string} settings
 */
function keyOf(folder, paths, settings) {
  const digests = paths.map((path) => `${path} ${digest(join(folder, path))}`)
  return hashInputs([settings, ...digests])
}

/** @param {string} path */
function digest(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/**
 * @param {string} folder
 * @param {string} bundle
 */
function stampOf(folder, bundle) {
  return join(folder, `${bundle}.sources.json`)
}
