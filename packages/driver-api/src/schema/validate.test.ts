import { describe, expect, it } from '@jest/globals'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'

import { anyPart } from '../../test/arbitraries.js'
import { mutatedPart } from '../../test/mutations.js'
import { partSchema, partSchemas } from '../policy/schema.js'
import { closed, list, oneOf } from './builders.js'
import { MAX_SCHEMA_ISSUES, schemaIssues, SchemaValidator } from './validate.js'

const shape = Type.Union([
  closed({ kind: Type.Literal('circle'), radius: Type.Number() }),
  closed({ kind: Type.Literal('path'), points: list(closed({ x: Type.Number(), mark: oneOf('start', 'end') })) }),
])

describe('schemaIssues', () => {
  it.each<[string, unknown, readonly [pointer: string, message: string][]]>([
    ['what fits', { kind: 'circle', radius: 1 }, []],
    ['another type', 7, [['', 'expected object']]],
    ['an unknown variant', { kind: 'square' }, [['/kind', 'expected "circle" or "path"']]],
    ['a missing discriminator', { radius: 1 }, [['/kind', 'expected "circle" or "path"']]],
    ['a missing member of a variant', { kind: 'circle' }, [['/radius', 'this property is required']]],
    [
      'a member of another variant',
      { kind: 'circle', radius: 1, points: [] },
      [['/points', 'this property does not exist here']],
    ],
    [
      'members deep inside',
      {
        kind: 'path',
        points: [
          { x: 1, mark: 'end' },
          { x: '1', mark: 'middle' },
        ],
      },
      [
        ['/points/1/x', 'expected number'],
        ['/points/1/mark', 'expected "start" or "end"'],
      ],
    ],
    [
      'a member whose name needs an escape',
      { kind: 'circle', radius: 1, 'a/b~c': 1 },
      [['/a~1b~0c', 'this property does not exist here']],
    ],
  ])('explains %s', (_what, value, expected) => {
    expect(schemaIssues(shape, value)).toEqual(expected.map(([pointer, message]) => ({ pointer, message })))
  })

  it('prefers the variant whose type fits', () => {
    const value = Type.Union([Type.String(), list(Type.Union([Type.String(), closed({ ref: Type.Literal('a') })]))])
    expect(schemaIssues(value, ['a', { ref: 'b' }])).toEqual([{ pointer: '/1/ref', message: 'expected "a"' }])
    expect(schemaIssues(value, 5)).toEqual([{ pointer: '', message: 'expected string' }])
  })

  it('never quotes the value', () => {
    const secret = 'hunter2'
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(partSchemas)), (schema) => {
        const value = Object.fromEntries(
          [...Object.keys((schema as { properties?: object }).properties ?? {}), 'kind'].map((name) => [name, secret]),
        )
        expect(JSON.stringify(schemaIssues(schema, value))).not.toContain(secret)
      }),
    )
  })

  it('stops at a bound', () => {
    const points = Array.from({ length: 10_000 }, () => ({ x: 'no', mark: 'end' }))
    expect(schemaIssues(shape, { kind: 'path', points })).toHaveLength(MAX_SCHEMA_ISSUES)
  })
})

describe('SchemaValidator', () => {
  it('says what the uncompiled check says', () => {
    const validator = new SchemaValidator(partSchema)
    fc.assert(
      fc.property(anyPart, mutatedPart(anyPart), (part, { value }) => {
        expect(validator.accepts(part)).toBe(true)
        expect(validator.issues(part)).toEqual([])
        expect(validator.accepts(value)).toBe(false)
        expect(validator.issues(value)).toEqual(schemaIssues(partSchema, value))
      }),
      { numRuns: 200 },
    )
  })
})
