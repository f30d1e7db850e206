import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart } from '../../../test/arbitraries.js'
import { checkPart } from '../invariants.js'
import type { Part } from '../parts.js'

type Path = readonly string[]

/** Members whose order means something; every other list of every part must be sorted. */
const ordered = [
  /\/routes$/,
  /\/routeLimits$/,
  /\/roots$/,
  /\/cipherSuites$/,
  /\/ecdhCurves$/,
  /\/extensions$/,
  /\/upstreamServers$/,
  /\/responseHeaders$/,
  /\/target\/headers$/,
  /\/descriptors$/,
  /\/globalHttpDescriptors$/,
  /\/entries$/,
]

function visit(value: unknown, path: Path, found: (value: unknown, path: Path) => void): void {
  found(value, path)
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) visit(member, [...path, name], found)
}

/** Places of a part for which a condition holds. What an extension holds is free. */
function places(part: Part, condition: (value: unknown, pointer: string) => boolean): readonly Path[] {
  const paths: Path[] = []
  visit(part, [], (value, path) => {
    if (part.kind === 'extension' && path[0] === 'value') return
    if (condition(value, path.map((name) => `/${name}`).join(''))) paths.push(path)
  })
  return paths
}

/** A copy with one value changed. */
function changed(part: Part, path: Path, change: (value: unknown) => unknown): Part {
  const copy = structuredClone(part) as unknown as Record<string, unknown>
  const owner = path.slice(0, -1).reduce((value, name) => value[name] as Record<string, unknown>, copy)
  const last = path.at(-1) ?? ''
  owner[last] = change(owner[last])
  return copy as unknown as Part
}

/** A part and a place in it. */
function partWith(condition: (value: unknown, pointer: string) => boolean): fc.Arbitrary<readonly [Part, Path]> {
  return anyPart
    .map((part) => [part, places(part, condition)] as const)
    .filter(([, paths]) => paths.length > 0)
    .chain(([part, paths]) => fc.constantFrom(...paths).map((path) => [part, path] as const))
}

const pointerOf = (path: Path): string => path.map((name) => `/${name}`).join('')

describe('checkPart', () => {
  it('finds any list that is turned round though its order means nothing', () => {
    const unordered = partWith(
      (value, pointer) => Array.isArray(value) && value.length > 1 && !ordered.some((kind) => kind.test(pointer)),
    )
    fc.assert(
      fc.property(unordered, ([part, path]) => {
        const turned = changed(part, path, (list) => [...(list as unknown[])].reverse())
        expect(checkPart(turned).map(({ pointer }) => pointer)).toContain(`${pointerOf(path)}/1`)
      }),
      { numRuns: 1000 },
    )
  })

  it('finds nothing in a list that is turned round where its order means something', () => {
    const meaningful = partWith(
      (value, pointer) => Array.isArray(value) && value.length > 1 && ordered.some((kind) => kind.test(pointer)),
    )
    fc.assert(
      fc.property(meaningful, ([part, path]) => {
        expect(checkPart(changed(part, path, (list) => [...(list as unknown[])].reverse()))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('finds every invalid address', () => {
    const address = partWith(
      (value, pointer) => typeof value === 'string' && /\/(address|addresses\/\d+|upstreamServers\/\d+)$/.test(pointer),
    )
    fc.assert(
      fc.property(address, fc.constantFrom('localhost', '[::1]', '10.0.0.256', '10.0.0.0/8'), ([part, path], text) => {
        const pointers = checkPart(changed(part, path, () => text)).map(({ pointer }) => pointer)
        expect(pointers).toContain(pointerOf(path))
      }),
      { numRuns: 500 },
    )
  })

  it('finds every invalid range', () => {
    const range = partWith((value, pointer) => typeof value === 'string' && /\/(cidrs|sources)\/\d+$/.test(pointer))
    fc.assert(
      fc.property(
        range,
        fc.constantFrom('10.0.0.1', '10.0.0.0/33', '::/129', '10.0.0.0/08', 'a/8'),
        ([part, path], text) => {
          const pointers = checkPart(changed(part, path, () => text)).map(({ pointer }) => pointer)
          expect(pointers).toContain(pointerOf(path))
        },
      ),
      { numRuns: 200 },
    )
  })

  it('finds weights that sum to more than 32 bits', () => {
    const weight = partWith((value, pointer) => typeof value === 'number' && pointer.endsWith('/weight'))
    fc.assert(
      fc.property(weight, ([part, path]) => {
        const pointers = checkPart(changed(part, path, () => 2 ** 32)).map(({ pointer }) => pointer)
        expect(pointers).toContain(pointerOf(path.slice(0, -2)))
      }),
      { numRuns: 200 },
    )
  })
})
