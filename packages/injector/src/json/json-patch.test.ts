import { describe, expect, it } from '@jest/globals'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'
import jsonPatchLibrary, { type Operation } from 'fast-json-patch'

import { escapePointer, jsonPatch } from './json-patch.js'

const { applyPatch } = jsonPatchLibrary

/** What another implementation makes of the operations. */
function applied(before: JsonValue, after: JsonValue): unknown {
  const operations = structuredClone(jsonPatch(before, after)) as Operation[]
  return applyPatch({ root: structuredClone(before) }, operations.map(beneathRoot)).newDocument
}

/** The library applies nothing to values other than objects. */
function beneathRoot(operation: Operation): Operation {
  return { ...operation, path: `/root${operation.path}` }
}

const key = fc.constantFrom('a', 'b', 'name', 'x/y', '~', '~1', '', ' ', 'Ω', '0')
const named = fc.array(fc.record({ name: fc.constantFrom('p', 'q', 'r', 's', 't'), v: fc.integer({ max: 3 }) }), {
  maxLength: 5,
})
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue[]>(null, true, 0, 1, '', 'text'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    named,
  ),
}))

describe('jsonPatch', () => {
  it('turns any value into any other', () => {
    fc.assert(
      fc.property(value, value, (before, after) => {
        expect(applied(before, after)).toEqual({ root: after })
      }),
      { numRuns: 2000 },
    )
  })

  it('says nothing of what is the same', () => {
    fc.assert(
      fc.property(value, (same) => {
        expect(jsonPatch(same, structuredClone(same))).toEqual([])
      }),
    )
  })

  it('inserts between named items instead of rewriting them', () => {
    const before = {
      list: [
        { name: 'b', deep: [1] },
        { name: 'd', deep: 1 },
      ],
    }
    const after = { list: [{ name: 'a' }, { name: 'b', deep: [1] }, { name: 'c' }, { name: 'd', deep: 2 }] }
    expect(jsonPatch(before, after)).toEqual([
      { op: 'add', path: '/list/0', value: { name: 'a' } },
      { op: 'add', path: '/list/2', value: { name: 'c' } },
      { op: 'replace', path: '/list/3/deep', value: 2 },
    ])
  })

  it('escapes names', () => {
    expect(escapePointer('openservicemesh.io/a~b')).toBe('openservicemesh.io~1a~0b')
    expect(jsonPatch({ 'a/b': 1 }, { 'a/b': 2 })).toEqual([{ op: 'replace', path: '/a~1b', value: 2 }])
  })

  it('keeps names that mean something to JavaScript', () => {
    const before = JSON.parse('{"__proto__": {"a": 1}, "constructor": 1}') as JsonValue
    const after = JSON.parse('{"__proto__": {"a": 2}, "constructor": 1, "toString": "x"}') as JsonValue
    expect(jsonPatch(before, after)).toEqual([
      { op: 'replace', path: '/__proto__/a', value: 2 },
      { op: 'add', path: '/toString', value: 'x' },
    ])
  })
})
