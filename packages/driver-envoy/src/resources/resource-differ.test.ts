import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { encodedResource } from './encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from './layered-resource-set.js'
import { ResourceDiffer } from './resource-differ.js'
import type { EncodedResource } from './types.js'

type Contents = Readonly<Record<string, string>>

function layer(contents: Contents): ResourceLayer {
  return new ResourceLayer(
    Object.entries(contents).map(([name, content]) => encodedResource(name, Buffer.from(content), [])),
  )
}

function set(...layers: readonly Contents[]): LayeredResourceSet {
  return new LayeredResourceSet(layers.map(layer))
}

function names(resources: readonly EncodedResource[]): readonly string[] {
  return resources.map(({ name }) => name)
}

describe('ResourceDiffer', () => {
  it('says what is new, what has changed and what is gone', () => {
    const { changed, removed } = new ResourceDiffer().diff(
      set({ a: '1', b: '1', c: '1' }),
      set({ a: '1', b: '2', d: '1' }),
    )
    expect(names(changed)).toEqual(['b', 'd'])
    expect(removed).toEqual(['c'])
  })

  it('does not take a move between layers for a change', () => {
    const { changed, removed } = new ResourceDiffer().diff(set({ a: '1', b: '1' }, {}), set({ b: '1' }, { a: '1' }))
    expect(changed).toEqual([])
    expect(removed).toEqual([])
  })

  it('compares sets that are cut differently', () => {
    const { changed, removed } = new ResourceDiffer().diff(set({ a: '1', b: '1' }), set({ a: '2' }, { c: '1' }))
    expect(names(changed)).toEqual(['a', 'c'])
    expect(removed).toEqual(['b'])
  })

  it('leads from one set to the other', () => {
    const contents = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('1', '2'))
    const split = (all: Contents, cut: string): readonly Contents[] => [
      Object.fromEntries(Object.entries(all).filter(([name]) => name <= cut)),
      Object.fromEntries(Object.entries(all).filter(([name]) => name > cut)),
    ]
    fc.assert(
      fc.property(contents, contents, fc.constantFrom('a', 'c', 'e'), fc.constantFrom('a', 'c', 'e'), (a, b, i, j) => {
        const before = set(...split(a, i))
        const after = set(...split(b, j))
        const { changed, removed } = new ResourceDiffer().diff(before, after)
        const reached = new Map([...before].map((resource) => [resource.name, resource.version]))
        for (const { name, version } of changed) reached.set(name, version)
        for (const name of removed) reached.delete(name)
        expect(reached).toEqual(new Map([...after].map((resource) => [resource.name, resource.version])))
        expect(changed.every(({ name, version }) => before.get(name)?.version !== version)).toBe(true)
      }),
    )
  })

  it('compares two sets once', () => {
    const differ = new ResourceDiffer()
    const before = set({ a: '1' })
    const after = set({ a: '2' })
    expect(differ.diff(before, after)).toBe(differ.diff(before, after))
  })

  it('compares shared layers once, in whatever sets they are', () => {
    const differ = new ResourceDiffer()
    const [old, now] = [layer({ a: '1' }), layer({ a: '2' })]
    const own = [layer({ x: '1' }), layer({ y: '1' })]
    const [first, second] = own.map((mine) =>
      differ.diff(new LayeredResourceSet([old, mine]), new LayeredResourceSet([now, mine])),
    )
    expect(first).toBe(second)
    expect(first?.changed).toHaveLength(1)
  })
})
