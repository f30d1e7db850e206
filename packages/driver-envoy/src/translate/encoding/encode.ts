import type { DescMessage } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Any, Duration } from '@bufbuild/protobuf/wkt'

import { encodeMessage, type Init } from '../../resources/encode-message.js'

export type { Init } from '../../resources/encode-message.js'

/** Encodes a message from its fields. */
export function encode<Desc extends DescMessage>(schema: Desc, message: Init<Desc>): Uint8Array {
  return encodeMessage(schema, message)
}

/** Type URL of a message, as xDS and `google.protobuf.Any` use it. */
export function typeUrl(schema: DescMessage): string {
  return `type.googleapis.com/${schema.typeName}`
}

/** Wraps a message for a field that takes any. */
export function pack<Desc extends DescMessage>(schema: Desc, message: Init<Desc>): Any {
  // Written out: the library would first make an empty message.
  return { $typeName: 'google.protobuf.Any', typeUrl: typeUrl(schema), value: encode(schema, message) }
}

/**
 * Chooses a field of a one-of. For those with deprecated fields: written out, `value` would be the property that all of them share, deprecated ones too.
 */
export function oneOf<Case extends string, Value>(
  name: Case,
  value: Value,
): { readonly case: Case; readonly value: Value } {
  return { case: name, value }
}

/** A span of time. */
export function duration(milliseconds: number): Duration {
  return {
    $typeName: 'google.protobuf.Duration',
    seconds: BigInt(Math.floor(milliseconds / 1000)),
    nanos: (milliseconds % 1000) * 1_000_000,
  }
}

/**
 * Adds encoded messages to a field of an encoded message.
 *
 * The encoding of a message is the concatenation of the encodings of its fields, so that what many aggregates share is encoded once and copied.
 */
export function appendTo<Desc extends DescMessage>(
  schema: Desc,
  message: Uint8Array,
  field: Extract<keyof Desc['field'], string>,
  values: readonly Uint8Array[],
): Uint8Array {
  const descriptor = schema.field[field]
  if (descriptor?.message === undefined) throw new TypeError(`${schema.typeName} has no field of messages ${field}`)
  const writer = new BinaryWriter().raw(message)
  for (const value of values) writer.tag(descriptor.number, WireType.LengthDelimited).bytes(value)
  return writer.finish()
}

/** Adds the given fields to an encoded message; those that it has already must be lists. */
export function extend<Desc extends DescMessage>(schema: Desc, message: Uint8Array, fields: Init<Desc>): Uint8Array {
  return new BinaryWriter().raw(message).raw(encode(schema, fields)).finish()
}
