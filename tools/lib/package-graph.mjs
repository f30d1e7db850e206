import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './paths.mjs'

const page = 'docs/design/architecture.md'
const begin = '<!-- packages: made from the imports by `npm run check -- graph --fix` -->'
const end = '<!-- end of packages -->'

/** @typedef {ReadonlyMap<string, ReadonlySet<string>>} Graph the packages that each package imports */

/**
 * Compares the picture of the packages in docs/design/architecture.md with what their sources import.
 * @param {{ fix: boolean }} options fix writes the picture
 * @param {string} [base] where the packages and the page are
 * @returns {string[]} what is wrong
 */
export function checkPackageGraph({ fix }, base = root) {
  const file = join(base, page)
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) return [`${page}: expected a picture between "${begin}" and "${end}"`]
  const expected = `${text.slice(0, from)}${begin}\n\n${renderGraph(readGraph(base))}\n\n${text.slice(to)}`
  if (text === expected) return []
  if (!fix) return [`${page}: the picture of the packages differs from what they import`]
  writeFileSync(file, expected)
  return []
}

/**
 * What the sources of each package import, without tests.
 * @param {string} base
 * @returns {Graph}
 */
export function readGraph(base) {
  const names = readdirSync(join(base, 'packages'))
    .filter((name) => existsSync(join(base, 'packages', name, 'src')))
    .sort()
  return new Map(names.map((name) => [name, importsOf(join(base, 'packages', name, 'src'), name)]))
}

/**
 * @param {string} folder
 * @param {string} own name of the package itself
 */
function importsOf(folder, own) {
  const found = new Set()
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const text = readFileSync(join(folder, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport\() ?'@osm-ts\/([^/']+)/g))
      if (name !== own) found.add(name)
  }
  return new Set([...found].sort())
}

/**
 * As a Mermaid diagram. An arrow that others imply is left out: who imports core may import the contract too.
 * @param {Graph} graph
 */
export function renderGraph(graph) {
  const arrows = [...graph].flatMap(([name, imports]) =>
    [...imports]
      .filter((target) => ![...imports].some((between) => between !== target && reaches(graph, between, target)))
      .map((target) => `  ${name} --> ${target}`),
  )
  const alone = [...graph]
    .filter(([name, imports]) => imports.size === 0 && ![...graph.values()].some((others) => others.has(name)))
    .map(([name]) => `  ${name}`)
  return ['```mermaid', 'flowchart TB', ...arrows, ...alone, '```'].join('\n')
}

/**
 * @param {Graph} graph which has no circles
 * @param {string} from
 * @param {string} to
 * @returns {boolean}
 */
function reaches(graph, from, to) {
  const imports = graph.get(from) ?? new Set()
  return imports.has(to) || [...imports].some((next) => reaches(graph, next, to))
}
