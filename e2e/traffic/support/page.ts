import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { SidecarClass } from './types.js'

const path = fileURLToPath(new URL('../../../docs/reference/traffic-corpus.md', import.meta.url))
const end = '<!-- end of table -->'

/** One line of a table of pairs; `cell` is what one class shows. */
export interface PairRow {
  readonly client: string
  readonly server: string
  readonly protocol: string
  readonly exchanges: number
  readonly cell: string
}

const classes: readonly SidecarClass[] = ['envoy', 'pipy']
const pairTitles = ['client', 'server', 'protocol', 'exchanges', ...classes]
const explanationTitles = ['', 'what differs', 'why', 'switch']

/** Cells of the lines of a table of the page, without its head. */
type Rows = readonly (readonly string[])[]

/**
 * Compares the column of a class in the table of a corpus with the page, or writes it there if UPDATE_GOLDEN is 1. Columns of other classes stay as they are.
 *
 * @returns what the test expects and what it found
 */
export function comparePairs(
  corpus: string,
  sidecarClass: SidecarClass,
  rows: readonly PairRow[],
): { readonly expected: Rows; readonly found: Rows } {
  const name = `pairs of ${corpus}`
  const column = pairTitles.indexOf(sidecarClass)
  const key = (cells: readonly string[]): string => cells.slice(0, 3).join('|')
  const own = rows.map(({ client, server, protocol, exchanges, cell }) => {
    const cells = [client, server, protocol, String(exchanges)]
    const before = readTable(name).find((line) => key(line) === key(cells))
    return [
      ...cells,
      ...classes.map((each) => (each === sidecarClass ? cell : (before?.[pairTitles.indexOf(each)] ?? 'not run'))),
    ]
  })
  if (process.env.UPDATE_GOLDEN === '1') writeTable(name, pairTitles, own)
  const relevant = (lines: Rows): Rows => lines.map((cells) => [...cells.slice(0, 4), cells[column] ?? ''])
  return { expected: relevant(own), found: relevant(readTable(name)) }
}

/** The same of the table of explained differences of a corpus, which all classes share. */
export function compareExplanations(corpus: string, rows: Rows): { readonly expected: Rows; readonly found: Rows } {
  const name = `explanations of ${corpus}`
  if (process.env.UPDATE_GOLDEN === '1') writeTable(name, explanationTitles, rows)
  return { expected: rows, found: readTable(name) }
}

function readTable(name: string): Rows {
  return splitPage(name)
    .table.split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

function writeTable(name: string, titles: readonly string[], rows: Rows): void {
  const { before, after } = splitPage(name)
  const widths = titles.map((title, i) => Math.max(3, title.length, ...rows.map((cells) => cells[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  const lines = [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
  writeFileSync(path, `${before}\n${lines.join('\n')}\n\n${after}`)
}

/** The page around a table, with the marks of its begin and end. */
function splitPage(name: string): { readonly before: string; readonly table: string; readonly after: string } {
  const page = readFileSync(path, 'utf8')
  const begin = `<!-- table: ${name} -->\n`
  const start = page.indexOf(begin)
  const stop = page.indexOf(end, start)
  if (start === -1 || stop === -1) throw new Error(`${path} has no place for "${name}": ${begin.trim()} … ${end}`)
  const from = start + begin.length
  return { before: page.slice(0, from), table: page.slice(from, stop), after: page.slice(stop) }
}
