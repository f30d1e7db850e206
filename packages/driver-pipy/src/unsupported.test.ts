import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import { optionalFeatures } from '@osm-ts/driver-api'
import { unsupportedByClass } from '@osm-ts/driver-api/host'
import type { PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { capabilities, unsupportedFeatures } from './capabilities.js'
import { translate } from './translate/translate.js'

const guide = new URL('../../../docs/guides/pipy.md', import.meta.url)
const matrix = new URL('../../../docs/reference/interop.md', import.meta.url)
const table =
  /(<!-- unsupported: packages\/driver-pipy\/src\/unsupported.test.ts -->\n\n)([^]*?)(\n\n<!-- end of unsupported -->)/
const inputs = new URL('../../driver-envoy/src/testdata/in/', import.meta.url)

// A format of access logs is supported but for the commands that the guide counts.
const partial = new Set(['/accessLog/template'])

// What class pipy lacks is declared by its capabilities, told by the guide, and shown for each proxy as rejected parts.
describe('what class pipy does not support', () => {
  it('is listed by the guide, with its reason', () => {
    const rows = Object.entries(unsupportedFeatures).map(([feature, reason]) => [`\`${feature}\``, reason] as const)
    const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length), 7))
    const line = (cells: readonly string[], fill: ' ' | '-'): string =>
      `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
    const expected = [line(['feature', 'reason'], ' '), line(['', ''], '-'), ...rows.map((row) => line(row, ' '))].join(
      '\n',
    )
    const text = readFileSync(guide, 'utf8')
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(guide, text.replace(table, `$1${expected}$3`))
    expect(table.exec(readFileSync(guide, 'utf8'))?.[2]).toBe(expected)
  })

  it('is not claimed by the matrix of classes', () => {
    const lines = readFileSync(matrix, 'utf8').split('\n')
    const cellsOf = (line: string): readonly string[] => line.split('|').map((cell) => cell.trim())
    const titles = cellsOf(lines.find((line) => line.startsWith('| client')) ?? '')
    const rows = lines.map(cellsOf).filter((cells) => cells.slice(1, 3).some((cell) => cell.startsWith('pipy ')))
    expect(rows.length).toBeGreaterThan(0)
    for (const [protocol, title] of [
      ['http', 'HTTP by path and method'],
      ['tcp', 'TCP'],
      ['grpc', 'gRPC over HTTP/2'],
    ] as const) {
      const isClaimed = capabilities.protocols.includes(protocol)
      for (const cells of rows)
        expect([protocol, cells[titles.indexOf(title)] === 'yes']).toEqual([protocol, isClaimed])
    }
  })

  const declared = new Set<string>()
  it.each(readdirSync(inputs).sort())('is all that %s is refused for', (file) => {
    const { proxy, parts } = JSON.parse(readFileSync(new URL(file, inputs), 'utf8')) as ProxyPolicy
    const partOf = (hash: PartHash) => {
      const part = parts[hash]
      if (part === undefined) throw new Error(`the document has no part ${hash}`)
      return part
    }
    const { refusals } = translate(proxy, partOf)
    for (const { ref, pointer } of refusals.filter((each) => !partial.has(each.pointer))) {
      const lacking = unsupportedByClass(partOf(ref.hash), capabilities).filter((each) => each.pointer === pointer)
      expect([ref.kind, pointer, lacking.length]).toEqual([ref.kind, pointer, 1])
      for (const { feature } of lacking) declared.add(feature)
    }
  })

  it('is refused by some example at least', () => {
    expect(declared.size).toBeGreaterThan(0)
    expect(optionalFeatures).toEqual(expect.arrayContaining([...declared]))
  })
})
