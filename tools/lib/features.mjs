import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readChartValues } from '../chart/values.mjs'
import { chartValues } from '../compatibility/chart-values.mjs'
import { commands } from '../compatibility/commands.mjs'
import { kinds } from '../compatibility/kinds.mjs'
import { expandName } from '../compatibility/row.mjs'
import { root } from './paths.mjs'

/** @typedef {import('../compatibility/row.mjs').Status} Status */
/** @typedef {import('../chart/values.mjs').ChartValue} ChartValue */

/**
 * What the table is compared with.
 *
 * @typedef {object} Known
 * @property {(path: string) => boolean} exists for paths from the root of the project
 * @property {ReadonlyMap<string, Status>} statuses of names in the tables of compatibility
 * @property {readonly string[]} parts values of the chart that switch parts of it on
 */

const page = 'docs/reference/features.md'
/** Values that decide whether the chart brings a program of others, or does without. */
const switchOfPart = /^osm\.deploy[A-Z]|^osm\.enableFluentbit$|^[a-z]+\.enabled$/

/** @returns {string[]} what is wrong with the table of features */
export function checkFeatures() {
  const rows = [chartValues, commands, kinds].flatMap((section) => section.rows)
  const values = readChartValues(readFileSync(join(root, 'charts/osm/values.yaml'), 'utf8')).flatMap(pathsOf)
  return findFeatureFaults(readFileSync(join(root, page), 'utf8'), {
    exists: (path) => existsSync(join(root, path)),
    statuses: new Map(rows.flatMap(({ name, status }) => expandName(name).map((each) => [each, status]))),
    parts: values.filter((path) => switchOfPart.test(path)),
  })
}

/**
 * Every row names scenarios or tests that exist, or says that the capability is not supported. A name of the tables of compatibility in the note of a row has to work if
 * and only if the row shows something. Each part of the chart that can be switched on has a row.
 * @param {string} text
 * @param {Known} known
 * @returns {string[]}
 */
export function findFeatureFaults(text, { exists, statuses, parts }) {
  /** @type {Set<string>} */
  const named = new Set()
  const faults = text.split('\n').flatMap((line, index) => {
    const cells = line.split('|').map((cell) => cell.trim())
    if (cells.length !== 5 || /^(-+|capability|)$/i.test(cells[1] ?? '')) return []
    const where = `${page}:${index + 1}`
    const [, capability = '', proof = '', note = ''] = cells
    const tests = [...proof.matchAll(/\[[^\]]*\]\(\.\.\/\.\.\/([^)]+)\)/g)].map(([, path = '']) => path)
    const wrong = tests.filter((path) => !exists(path)).map((path) => `${where}: there is no ${path}`)
    for (const [, name = ''] of note.matchAll(/`([^`]+)`/g)) {
      const status = statuses.get(name)
      named.add(name)
      if (status !== undefined && (status === 'works') !== tests.length > 0)
        wrong.push(
          `${where}: "${capability}" shows ${tests.length} tests, but ${name} has status ${status} in the tables of compatibility`,
        )
    }
    if (tests.length > 0 || proof === 'not supported') return wrong
    return [
      ...wrong,
      `${where}: "${capability}" names no scenario and no test; write "not supported" if it is not part of this mesh`,
    ]
  })
  const missing = parts.filter((part) => !named.has(part))
  return [
    ...faults,
    ...missing.map((part) => `${page}: no row has \`${part}\` in its note, which is a part of the chart`),
  ]
}

/**
 * @param {ChartValue} value
 * @returns {readonly string[]} its path, and those of what may be set in it
 */
function pathsOf({ path, children }) {
  return [path, ...children.flatMap(pathsOf)]
}
