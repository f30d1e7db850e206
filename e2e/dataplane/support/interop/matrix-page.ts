import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { type Pair, type SidecarClass, sidecarClasses } from './sidecar-class.js'

const path = fileURLToPath(new URL('../../../../docs/reference/interop.md', import.meta.url))
const begin = '<!-- matrix: made by e2e/dataplane/interop.test.ts and e2e/pipy/interop-matrix.test.ts -->'
const end = '<!-- end of matrix -->'

/** Columns of the matrix, in order. */
export const properties = ['identity', 'http', 'split', 'tcp', 'grpc'] as const
export type Property = (typeof properties)[number]

/** One line of the matrix. */
export interface MatrixRow {
  readonly pair: Pair
  readonly versions: readonly [client: string, server: string]
  readonly cells: Readonly<Record<Property, string>>
}

const titles: Readonly<Record<Property, string>> = {
  identity: 'mutual TLS and identity',
  http: 'HTTP by path and method',
  split: 'split over classes',
  tcp: 'TCP',
  grpc: 'gRPC over HTTP/2',
}

const head = [
  line(['client', 'server', ...properties.map((name) => titles[name])]),
  line(['', '', '', '', '', '', ''].map(() => '---')),
]

/**
 * Compares lines of the matrix with those in the documentation, or writes them there if UPDATE_GOLDEN is 1. Lines of other pairs stay as they are.
 *
 * @returns what the test expects and what it found: lines of these pairs, in the order of the page
 */
export function compareMatrix(rows: readonly MatrixRow[]): {
  readonly expected: readonly string[]
  readonly found: readonly string[]
} {
  const keys = new Set(rows.map(({ pair }) => keyOf(pair)))
  const isOwn = (text: string): boolean => keys.has(keyOfLine(text))
  const own = rows.map(({ pair, versions, cells }) =>
    line([...pair.map((name, i) => `${name} ${versions[i] ?? ''}`), ...properties.map((name) => cells[name])]),
  )
  if (process.env.UPDATE_GOLDEN === '1')
    write([...read().filter((text) => keyOfLine(text) !== '' && !isOwn(text)), ...own])
  const inOrder = (lines: readonly string[]): readonly string[] => [...head, ...ordered(lines)].map(bare)
  return { expected: inOrder(own), found: [...read().slice(0, head.length), ...read().filter(isOwn)].map(bare) }
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** Formatting of tables is the formatter's matter, and the last number of a version says nothing about the matrix. */
function bare(text: string): string {
  return text
    .replaceAll(/ {2,}/g, ' ')
    .replaceAll(/-{3,}/g, '---')
    .replaceAll(/(\d+\.\d+)\.\d+/g, '$1')
}

const keyOf = ([client, server]: Pair): string => `${client} ${server}`

/** Empty for lines that are about no pair. */
function keyOfLine(text: string): string {
  const [, client, server] = /^\| (\w+) [\d.]+ +\| (\w+) [\d.]+ /.exec(text) ?? []
  const known = (name: string | undefined): boolean => sidecarClasses.includes(name as SidecarClass)
  return known(client) && known(server) ? `${client ?? ''} ${server ?? ''}` : ''
}

function ordered(lines: readonly string[]): readonly string[] {
  const order = sidecarClasses.flatMap((client) => sidecarClasses.map((server) => keyOf([client, server])))
  return [...lines].sort((a, b) => order.indexOf(keyOfLine(a)) - order.indexOf(keyOfLine(b)))
}

function parts(): { readonly before: string; readonly lines: readonly string[]; readonly after: string } {
  const page = readFileSync(path, 'utf8')
  const [before = '', rest = ''] = page.split(`${begin}\n`)
  const [table, after] = rest.split(end)
  if (table === undefined || after === undefined)
    throw new Error(`${path} has no place for the matrix: ${begin} … ${end}`)
  return { before, lines: table.split('\n').filter((text) => text !== ''), after }
}

const read = (): readonly string[] => parts().lines

function write(lines: readonly string[]): void {
  const { before, after } = parts()
  writeFileSync(path, `${before}${begin}\n\n${[...head, ...ordered(lines)].join('\n')}\n\n${end}${after}`)
}
