import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart, jsonValue } from '../../test/arbitraries.js'
import { canonicalJson, hashPart } from './canonical.js'
import type { JsonValue, Part } from './parts.js'

/** The same value with the members of every object in another order. */
function shuffled(value: JsonValue, random: () => number): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => shuffled(item, random))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
    .map(([name, member]) => ({ name, member: shuffled(member, random), place: random() }))
    .sort((a, b) => a.place - b.place)
  return Object.fromEntries(members.map(({ name, member }) => [name, member]))
}

const places = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }))

describe('canonicalJson', () => {
  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(jsonValue, places, (value, random) => {
        expect(canonicalJson(shuffled(value, () => Number(random.next().value)))).toBe(canonicalJson(value))
      }),
    )
  })

  it('is JSON that means the same', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('leaves out members without a value', () => {
    expect(canonicalJson({ b: undefined, a: [{ c: undefined }] })).toBe('{"a":[{}]}')
  })

  it.each([
    ['names of digits', { b: { 9: 'nine', 10: 'ten', a: 1 } }, '{"b":{"10":"ten","9":"nine","a":1}}'],
    ['the name of the prototype', JSON.parse('{"b":1,"__proto__":{"d":1,"c":2}}'), '{"__proto__":{"c":2,"d":1},"b":1}'],
    [
      'an object without a prototype',
      Object.assign(Object.create(null), { b: 1, a: [{ d: 1, c: 2 }] }),
      '{"a":[{"c":2,"d":1}],"b":1}',
    ],
    [
      'a sorted object around one that is not',
      { a: [1], b: { d: '\ud800', c: undefined, a: null } },
      '{"a":[1],"b":{"a":null,"d":"\\ud800"}}',
    ],
    ['negative zero', [-0], '[0]'],
    [
      'an object with many members',
      Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`m${99 - at}`, at])),
      `{${Array.from({ length: 60 }, (_, at) => `"m${40 + at}":${59 - at}`).join(',')}}`,
    ],
  ])('sorts the members of %s', (_what, value: unknown, text) => {
    expect(canonicalJson(value)).toBe(text)
  })

  it.each([
    ['a function', { a: () => 1 }],
    ['a symbol', [Symbol('a')]],
    ['a bigint', 1n],
    ['NaN', { a: [Number.NaN] }],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['undefined in a list', [undefined]],
  ])('refuses %s', (_what, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError)
  })
})

describe('hashPart', () => {
  const part: Part = { kind: 'set', id: 'outbound/shop', of: 'outbound', members: [], sets: [] }

  it('never changes for content that stays the same', () => {
    expect(hashPart(part)).toBe('N4ZIo7qvqVwW_-7o8e7tQucERcVmzPq6')
  })

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(anyPart, places, (value, random) => {
        // A part is JSON, and so is its shuffled form.
        const other = shuffled(value as unknown as JsonValue, () => Number(random.next().value)) as unknown as Part
        expect(hashPart(other)).toBe(hashPart(value))
      }),
    )
  })

  it('changes with any content', () => {
    fc.assert(
      fc.property(anyPart, anyPart, (a, b) => {
        expect(hashPart(a) === hashPart(b)).toBe(canonicalJson(a) === canonicalJson(b))
      }),
    )
  })
})
