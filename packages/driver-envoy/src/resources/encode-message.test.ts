import { create, type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from '@jest/globals'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import fc from 'fast-check'

import { encodeMembers, encodeMessage } from './encode-message.js'

type Init = Readonly<Record<string, unknown>>

const MAX_DEPTH = 3

const scalars: Readonly<Partial<Record<ScalarType, fc.Arbitrary<unknown>>>> = {
  [ScalarType.STRING]: fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 100 })),
  [ScalarType.BYTES]: fc.uint8Array(),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.INT32]: fc.integer(),
  [ScalarType.UINT32]: fc.nat(0xff_ff_ff_ff),
  [ScalarType.INT64]: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  [ScalarType.UINT64]: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  [ScalarType.DOUBLE]: fc.double(),
  [ScalarType.FLOAT]: fc.float(),
}

/** Anything that a message may be made of. */
function initOf(schema: DescMessage, depth = 0): fc.Arbitrary<Init> {
  const members = schema.members.flatMap((member) => {
    if (member.kind === 'field') {
      const value = valueOf(member, depth)
      return value === undefined ? [] : [[member.localName, value] as const]
    }
    const cases = member.fields.flatMap((field) => {
      const value = valueOf(field, depth)
      return value === undefined ? [] : [value.map((chosen) => ({ case: field.localName, value: chosen }))]
    })
    return cases.length === 0 ? [] : [[member.localName, fc.oneof(...cases)] as const]
  })
  // A few of many fields, in any order.
  return fc
    .shuffledSubarray(members, { maxLength: Math.min(6, members.length) })
    .chain((chosen) => fc.record(Object.fromEntries(chosen), { noNullPrototype: true }))
}

function valueOf(field: DescField, depth: number): fc.Arbitrary<unknown> | undefined {
  switch (field.fieldKind) {
    case 'scalar':
      return scalars[field.scalar]
    case 'enum':
      return enumValueOf(field)
    case 'message':
      return messageOf(field, depth)
    case 'list': {
      const element =
        field.listKind === 'message'
          ? messageOf(field, depth)
          : field.listKind === 'enum'
            ? enumValueOf(field)
            : scalars[field.scalar]
      return element && fc.array(element, { maxLength: 3 })
    }
    case 'map': {
      const value =
        field.mapKind === 'message'
          ? messageOf(field, depth)
          : field.mapKind === 'enum'
            ? enumValueOf(field)
            : scalars[field.scalar]
      return value && fc.dictionary(fc.string(), value, { maxKeys: 3, noNullPrototype: true })
    }
  }
}

function enumValueOf({ enum: descriptor }: DescField): fc.Arbitrary<number> {
  return fc.constantFrom(...(descriptor?.values.map(({ number }) => number) ?? [0]))
}

function messageOf(field: DescField, depth: number): fc.Arbitrary<unknown> | undefined {
  const { message } = field
  if (message === undefined || depth === MAX_DEPTH) return undefined
  if (message.typeName === 'google.protobuf.Struct')
    return fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
  const [only] = message.fields
  const isWrapper = message.file.name === 'google/protobuf/wrappers' && field.fieldKind === 'message'
  if (isWrapper && field.oneof === undefined && only?.fieldKind === 'scalar') return scalars[only.scalar]
  return initOf(message, depth + 1)
}

describe('encodeMessage', () => {
  it.each([ClusterSchema, ListenerSchema, RouteConfigurationSchema, HttpConnectionManagerSchema])(
    'gives the bytes of the library for %s',
    (schema) => {
      fc.assert(
        fc.property(initOf(schema), (init) => {
          const message = create(schema, init)
          const expected = toBinary(schema, message)
          expect(Buffer.from(encodeMessage(schema, init))).toEqual(Buffer.from(expected))
          expect(Buffer.from(encodeMessage(schema, message))).toEqual(Buffer.from(expected))
        }),
      )
    },
  )

  it.each([ClusterSchema, ListenerSchema, RouteConfigurationSchema, HttpConnectionManagerSchema])(
    'gives the same bytes for %s when its members are encoded first',
    (schema) => {
      fc.assert(
        fc.property(initOf(schema), (init) => {
          const expected = Buffer.from(encodeMessage(schema, init))
          const encoded = encodeMembers(schema, init)
          expect(Buffer.from(encodeMessage(schema, encoded))).toEqual(expected)
          expect(Buffer.from(encodeMessage(schema, { ...encoded }))).toEqual(expected)
          expect(Object.keys(encoded)).toEqual(Object.keys(encodeMembers(schema, encoded)))
        }),
      )
    },
  )

  it('does not look again at members that are encoded', () => {
    const metadata = { filterMetadata: { mesh: { service: 'before' } } }
    const encoded = encodeMembers(ClusterSchema, { metadata, name: 'cluster' })
    metadata.filterMetadata.mesh.service = 'after'
    expect(Buffer.from(encodeMessage(ClusterSchema, encoded))).toEqual(
      Buffer.from(
        encodeMessage(ClusterSchema, {
          name: 'cluster',
          metadata: { filterMetadata: { mesh: { service: 'before' } } },
        }),
      ),
    )
  })

  it('writes messages that are larger than its first buffer', () => {
    const init = { typeUrl: 'ä'.repeat(3000), value: new Uint8Array(100_000).fill(7) }
    expect(Buffer.from(encodeMessage(AnySchema, init))).toEqual(
      Buffer.from(toBinary(AnySchema, create(AnySchema, init))),
    )
  })

  it('names the field of a value that cannot be encoded', () => {
    expect(() => encodeMessage(ClusterSchema, { perConnectionBufferLimitBytes: -1 })).toThrow(
      /cannot encode field google\.protobuf\.UInt32Value\.value: .*-1/,
    )
  })
})
