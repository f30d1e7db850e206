import { describe, expect, it } from '@jest/globals'

import { YamlTree } from './yaml-tree.js'

/** Maximum processor time for a text of some kilobytes. Without its measure the library takes minutes for some of them. */
const MAX_CPU_MS = 2_000

function read(text: string) {
  const started = process.cpuUsage()
  const found = new YamlTree({ text, line: 1 }).read()
  const { user, system } = process.cpuUsage(started)
  return { ...found, cpuMs: (user + system) / 1000 }
}

describe('YamlTree', () => {
  it.each([
    ['question marks', '? '.repeat(400)],
    ['mappings', `${'{'.repeat(400)}a${'}: 1'.repeat(400)}`],
    ['lists', `${'['.repeat(400)}${']: 1'.repeat(400)}`],
    ['mappings and lists below a text', `kind: { a: ${'{['.repeat(200)}b${']: 1}'.repeat(200)} }`],
    ['question marks to the end of the stack', '? '.repeat(50_000)],
  ])('refuses keys of nested %s in time that grows with their length', (_what, text) => {
    const { value, faults, cpuMs } = read(text)
    expect(faults.length).toBeGreaterThan(0)
    expect(value).toBeUndefined()
    expect(cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it.each([
    ['keys', (index: number) => `k${index}: 1`],
    ['anchors', (index: number) => `k${index}: &a${index} 1`],
  ])('reads tens of thousands of %s in time that grows with their number', (_what, line) => {
    const { value, faults, cpuMs } = read(Array.from({ length: 20_000 }, (_, index) => line(index)).join('\n'))
    expect(faults).toEqual([])
    expect(Object.keys(value as object)).toHaveLength(20_000)
    expect(cpuMs).toBeLessThan(MAX_CPU_MS)
  })

  it('refuses keys that a mapping has twice, in the order of the text and with their places', () => {
    const { faults } = read('a: 1\nb: { c: 1, c: 2 }\n"a": 3\n')
    expect(faults).toEqual([
      { message: 'Map keys must be unique', place: { line: 2, column: 12 } },
      { message: 'Map keys must be unique', place: { line: 3, column: 1 } },
    ])
  })

  it('refuses a key that is an alias of a list', () => {
    const { value, faults } = read('a: &a [1, 2]\n*a : 1\n')
    expect(faults.length).toBeGreaterThan(0)
    expect(value).toBeUndefined()
  })

  it('tells what a document with another fault says as far as it can be read', () => {
    const { value, faults } = read('kind: Service\nmetadata: { name: store\n')
    expect(faults.length).toBeGreaterThan(0)
    expect(value).toMatchObject({ kind: 'Service', metadata: { name: 'store' } })
  })
})
