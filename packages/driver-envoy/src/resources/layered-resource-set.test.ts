import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { encodedResource } from './encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from './layered-resource-set.js'
import type { EncodedResource } from './types.js'

function resource(name: string, content = name): EncodedResource {
  return encodedResource(name, Buffer.from(content), [])
}

describe('LayeredResourceSet', () => {
  it('is one sorted set, however it is cut', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), fc.nat(3), (names, cut) => {
        const layers = [0, 1, 2, 3].map(
          (layer) => new ResourceLayer(names.filter((_, i) => i % (cut + 1) === layer).map((name) => resource(name))),
        )
        const set = new LayeredResourceSet(layers)
        const sorted = [...names].sort()
        expect([...set].map(({ name }) => name)).toEqual(sorted)
        expect(set.size).toBe(names.length)
        for (const name of names) expect(set.get(name)?.name).toBe(name)
      }),
    )
  })

  it('has a version that says what is in it', () => {
    const set = (...contents: readonly string[]): string =>
      new LayeredResourceSet([new ResourceLayer(contents.map((content) => resource(content.slice(0, 1), content)))])
        .version
    expect(set('a', 'b')).toBe(set('b', 'a'))
    expect(set('a', 'b')).not.toBe(set('a'))
    expect(set('a', 'b')).not.toBe(set('a', 'b2'))
    expect(set()).not.toBe(set('a'))
  })

  it('is the same after some resources are renewed as if it were made of them', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 1 }), fc.infiniteStream(fc.boolean()), (names, choices) => {
        const before = new ResourceLayer(names.map((name) => resource(name)))
        const renewed = names.filter(() => choices.next().value === true).map((name) => resource(name, `${name} 2`))
        const after = before.with([...renewed, resource(`${names.join('')} unknown`)])
        const contents = new Map(renewed.map((each) => [each.name, each]))
        const made = new ResourceLayer(names.map((name) => contents.get(name) ?? resource(name)))
        expect(after.resources).toEqual(made.resources)
        expect(after.version).toBe(made.version)
        for (const name of names) expect(after.get(name)).toEqual(made.get(name))
        expect(before.version).toBe(new ResourceLayer(names.map((name) => resource(name))).version)
      }),
    )
  })

  it('finds nothing under a name that is in no layer', () => {
    expect(new LayeredResourceSet([new ResourceLayer([resource('a')])]).get('b')).toBeUndefined()
  })
})
