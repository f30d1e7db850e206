import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

const page = 'docs/reference/features.md'

/** @returns {string[]} what is wrong with the table of features */
export function checkFeatures() {
  return findFeatureFaults(readFileSync(join(root, page), 'utf8'), (path) => existsSync(join(root, path)))
}

/**
 * Every row names scenarios or tests that exist, or says that there is none yet.
 * @param {string} text
 * @param {(path: string) => boolean} exists for paths from the root of the project
 * @returns {string[]}
 */
export function findFeatureFaults(text, exists) {
  return text.split('\n').flatMap((line, index) => {
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells.length !== 5 || /^(-+|capability|)$/i.test(cells[1] ?? '')) return []
    const where = `${page}:${index + 1}`
    const proof = cells[2] ?? ''
    const named = [...proof.matchAll(/\[[^\]]*\]\(\.\.\/\.\.\/([^)]+)\)/g)].map(([, path = '']) => path)
    const missing = named.filter((path) => !exists(path)).map((path) => `${where}: there is no ${path}`)
    if (named.length > 0 || proof === 'not yet') return missing
    return [`${where}: "${cells[1] ?? ''}" names no scenario and no test; write "not yet" if there is none`]
  })
}
