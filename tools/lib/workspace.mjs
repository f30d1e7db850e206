import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

/**
 * The folders that are compiled as projects of their own, relative to the root and sorted.
 * @param {string} [base]
 */
export function typeScriptProjects(base = root) {
  const below = (/** @type {string} */ parent) =>
    existsSync(join(base, parent)) ? readdirSync(join(base, parent)).map((name) => `${parent}/${name}`) : []
  const candidates = ['e2e', ...below('examples'), ...below('packages'), 'tools']
  return candidates.filter((folder) => existsSync(join(base, folder, 'tsconfig.json'))).sort()
}
