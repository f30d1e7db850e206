import { describe, expect, it } from '@jest/globals'
import { Type } from '@sinclair/typebox'
import { freeObject, mapOf, oneOf, portNumber, struct } from '@osm-ts/core'

import { toStructuralSchema, type Adjustment } from './structural-schema.js'

const asItIs = (): undefined => undefined
const adjusted =
  (table: Readonly<Record<string, Adjustment>>) =>
  (path: string): Adjustment | undefined =>
    table[path]

describe('structural schemas', () => {
  it('keep what API servers can check, and demand nothing that has a default', () => {
    const schema = struct(
      {
        port: portNumber('Port.'),
        name: Type.String({ minLength: 1, pattern: '^a', description: 'Name.' }),
        mode: oneOf(['a', 'b'], 'Mode.', { default: 'a' }),
        note: Type.Optional(Type.String()),
        list: Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems: 2 }),
        map: mapOf(Type.Boolean(), 'Map.'),
        free: freeObject('Anything.'),
      },
      'All.',
    )
    expect(toStructuralSchema(schema, asItIs)).toEqual({
      type: 'object',
      description: 'All.',
      required: ['port', 'name', 'list', 'map', 'free'],
      properties: {
        port: { type: 'integer', minimum: 1, maximum: 65535, description: 'Port.' },
        name: { type: 'string', description: 'Name.' },
        mode: { type: 'string', enum: ['a', 'b'], description: 'Mode.' },
        note: { type: 'string' },
        list: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'integer', minimum: 0 } },
        map: { type: 'object', additionalProperties: { type: 'boolean' }, description: 'Map.' },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, description: 'Anything.' },
      },
    })
  })

  it('are adjusted in lists and maps, and still tell the words that they stop checking', () => {
    const schema = struct(
      {
        list: Type.Array(struct({ kind: oneOf(['A', 'B'], 'Kind.'), other: Type.Number() }, 'Item.')),
        map: mapOf(Type.String(), 'Map.'),
      },
      'All.',
    )
    const table = adjusted({
      'list[].kind': { without: ['enum', 'required'] },
      'list[].other': { with: { default: 1 } },
      'map{}': { without: ['type'], with: { 'x-kubernetes-preserve-unknown-fields': true } },
    })
    const { list, map } = toStructuralSchema(schema, table).properties ?? {}
    expect(list?.items).toEqual({
      type: 'object',
      description: 'Item.',
      required: ['other'],
      properties: {
        kind: { type: 'string', description: 'Kind. One of A, B.' },
        other: { type: 'number', default: 1 },
      },
    })
    expect(map?.additionalProperties).toEqual({ 'x-kubernetes-preserve-unknown-fields': true })
  })
})
