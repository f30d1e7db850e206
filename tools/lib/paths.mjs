import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The checkout these tools belong to. */
export const root = resolve(import.meta.dirname, '../..')

/**
 * Where downloads and generated code stay between checkouts.
 * @param {NodeJS.ProcessEnv} env
 */
export function cacheRoot(env = process.env) {
  const base = env.XDG_CACHE_HOME
  // The XDG specification asks to ignore relative paths.
  return join(base?.startsWith('/') ? base : join(homedir(), '.cache'), 'osm-ts')
}

/**
 * The path of a program that a workspace package brings.
 * @param {string} name
 * @param {string} [packageFolder] relative to the root; the root itself when left out
 */
export function localBin(name, packageFolder = '.') {
  return join(root, packageFolder, 'node_modules/.bin', name)
}
