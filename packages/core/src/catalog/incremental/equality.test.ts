import { describe, expect, it } from '@jest/globals'
import { canonicalJson } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { deepEqual, sameItems } from './equality.js'

describe('deepEqual', () => {
  it.each([
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: null }, false],
    [[1, 2], [1, 2], true],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [{}, [], false],
    [null, {}, false],
    [JSON.parse('{"__proto__":{}}'), {}, false],
    [JSON.parse('{"constructor":1}'), { constructor: 1 }, true],
    ['1', 1, false],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2 }] } }, true],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }, false],
  ])('of %j and %j', (a, b, expected) => {
    expect(deepEqual(a, b)).toBe(expected)
    expect(deepEqual(b, a)).toBe(expected)
  })

  it('says the same as canonical JSON', () => {
    // Few leaves and names, so that equal pairs are common.
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.constantFrom(0, 1, 'a', null, true), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 2 }),
      object: fc.dictionary(fc.constantFrom('x', 'y'), tie('value'), { maxKeys: 2 }),
    }))
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(deepEqual(a, b)).toBe(canonicalJson(a) === canonicalJson(b))
        expect(deepEqual(a, structuredClone(a))).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('sameItems', () => {
  it('compares in order with the given equality', () => {
    expect(sameItems([1, 2], [1, 2])).toBe(true)
    expect(sameItems([1, 2], [1])).toBe(false)
    expect(sameItems([1], [-1], (a, b) => Math.abs(a) === Math.abs(b))).toBe(true)
  })
})
