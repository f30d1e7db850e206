import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  ScalarType,
} from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { FeatureSet_FieldPresence as Presence, StructSchema } from '@bufbuild/protobuf/wkt'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { ReverseWriter } from './reverse-writer.js'

/** Fields of a message that is still to be made. */
export type Init<Desc extends DescMessage> = Extract<MessageInitShape<Desc>, { readonly $typeName?: never }>
/** A message, or what one is to be made of, by the names of its fields. */
type Fields = Readonly<Record<string, unknown>>
type ListField = DescField & { readonly fieldKind: 'list' }
type MapField = DescField & { readonly fieldKind: 'map' }
type Scalar = Exclude<ScalarType, ScalarType.STRING | ScalarType.BYTES>

/** Largest integer whose encoding is the same for all types of varints but the zigzag ones. */
const MAX_PLAIN_VARINT = 0x7f_ff_ff_ff

/**
 * Encodes what a message is to be made of, without making it. Gives the bytes that the library gives for the message made: fields in the order of
 * their numbers, and unset ones left out.
 *
 * @throws TypeError for a field of a kind that Envoy's API does not use: a group, or a map by something else than strings
 */
export function encodeMessage<Desc extends DescMessage>(schema: Desc, message: MessageInitShape<Desc>): Uint8Array {
  const writer = new ReverseWriter()
  writeMessage(writer, schema, message)
  return writer.finish()
}

/** A message that is encoded already, in place of its fields. */
class EncodedFields {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** Encodes a message once, for its bytes and for its place in another message. */
export function encodeOnce<Desc extends DescMessage>(
  schema: Desc,
  message: Init<Desc>,
): { readonly bytes: Uint8Array; readonly message: Init<Desc> } {
  const bytes = encodeMessage(schema, message)
  // EncodedFields stands wherever a message may.
  return { bytes, message: new EncodedFields(bytes) as unknown as Init<Desc> }
}

/**
 * The same message with its members in the order of their fields, and those that are messages encoded. It gives the same bytes, in less time each time
 * that it is encoded or spread into another.
 */
export function encodeMembers<Desc extends DescMessage>(schema: Desc, message: Init<Desc>): Init<Desc> {
  const fields: Fields = message
  const members = Object.keys(fields).flatMap((name) => {
    const field = setField(schema, name, fields[name])
    return field === undefined ? [] : [{ name, field, value: encodedMember(field, name, fields[name]) }]
  })
  members.sort((a, b) => a.field.number - b.field.number)
  // Members have the names that they had, and EncodedFields stands wherever a message may.
  return Object.fromEntries(members.map(({ name, value }) => [name, value])) as Init<Desc>
}

function encodedMember(field: DescField, name: string, member: unknown): unknown {
  if (field.localName !== name) {
    const chosen = member as Chosen
    return { case: chosen.case, value: encodedMember(field, field.localName, chosen.value) }
  }
  if (field.fieldKind === 'message') return encodedContent(field, field.message, member)
  if (field.fieldKind === 'list' && field.listKind === 'message') {
    const { message } = field
    return (member as readonly unknown[]).map((element) => encodedContent(field, message, element))
  }
  return member
}

function encodedContent(field: DescField, schema: DescMessage, value: unknown): EncodedFields {
  const writer = new ReverseWriter()
  writeContent(writer, field, schema, value)
  return new EncodedFields(writer.finish())
}

function writeMessage(writer: ReverseWriter, schema: DescMessage, message: Fields): void {
  const names = Object.keys(message)
  // Nearly all messages are written down in the order of their fields: then no list of fields is made and sorted.
  if (!areInOrder(schema, names, message))
    names.sort((a, b) => numberOf(schema, a, message[a]) - numberOf(schema, b, message[b]))
  for (let at = names.length - 1; at >= 0; at -= 1) {
    const name = names[at] ?? ''
    const member = message[name]
    const field = setField(schema, name, member)
    if (field !== undefined) writeField(writer, field, field.localName === name ? member : (member as Chosen).value)
  }
}

function areInOrder(schema: DescMessage, names: readonly string[], message: Fields): boolean {
  let last = 0
  for (const name of names) {
    const number = numberOf(schema, name, message[name])
    if (number === 0) continue
    if (number < last) return false
    last = number
  }
  return true
}

/** Zero for a member that sets nothing. */
function numberOf(schema: DescMessage, name: string, value: unknown): number {
  return setField(schema, name, value)?.number ?? 0
}

/** The field of a one-of that is set. */
interface Chosen {
  readonly case: string | undefined
  readonly value: unknown
}

/** The field that a member of a message sets; undefined: none. */
function setField(schema: DescMessage, name: string, value: unknown): DescField | undefined {
  if (value === undefined || value === null) return undefined
  const field = schema.field[name]
  if (field !== undefined) return isUnset(field, value) ? undefined : field
  if (typeof value !== 'object' || !('case' in value)) return undefined
  const chosen = value as Chosen
  const one = chosen.case === undefined ? undefined : schema.field[chosen.case]
  return one?.oneof?.localName !== name || chosen.value === undefined ? undefined : one
}

/** True for the zero of a field that does not tell it from absence. Lists and maps without elements write nothing anyway. */
function isUnset(field: DescField, value: unknown): boolean {
  if (field.presence !== Presence.IMPLICIT) return false
  if (field.fieldKind === 'enum') return value === field.enum.values[0]?.number
  return value === '' || value === 0 || value === 0n || value === false || isEmptyBytes(value)
}

function isEmptyBytes(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === 0
}

function writeField(writer: ReverseWriter, field: DescField, value: unknown): void {
  switch (field.fieldKind) {
    case 'scalar':
      writeTagged(writer, field, field.scalar, value)
      return
    case 'enum':
      writeTagged(writer, field, ScalarType.INT32, value)
      return
    case 'message':
      writeMessageField(writer, field, field.message, value)
      return
    case 'list':
      writeList(writer, field, value as readonly unknown[])
      return
    case 'map':
      writeMap(writer, field, value as Fields)
  }
}

function writeMessageField(writer: ReverseWriter, field: DescField, schema: DescMessage, value: unknown): void {
  if ('delimitedEncoding' in field && field.delimitedEncoding) throw new TypeError(`${field.toString()} is a group`)
  const end = writer.length
  writeContent(writer, field, schema, value)
  writeHead(writer, field.number, writer.length - end)
}

function writeContent(writer: ReverseWriter, field: DescField, schema: DescMessage, value: unknown): void {
  if (value instanceof EncodedFields) writer.raw(value.bytes)
  else if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
    // Messages that only wrap a scalar are given as the scalar.
    const only = schema.fields[0]
    if (only !== undefined && !isUnset(only, value)) writeField(writer, only, value)
  } else if (schema.typeName === StructSchema.typeName && field.parent.typeName !== 'google.protobuf.Value') {
    writeMessage(writer, StructSchema, { ...fromJson(StructSchema, value as JsonObject) })
  } else writeMessage(writer, schema, value as Fields)
}

function writeList(writer: ReverseWriter, field: ListField, list: readonly unknown[]): void {
  if (field.listKind === 'message') {
    for (let index = list.length - 1; index >= 0; index -= 1)
      writeMessageField(writer, field, field.message, list[index])
    return
  }
  const type = field.scalar ?? ScalarType.INT32
  const end = writer.length
  for (let index = list.length - 1; index >= 0; index -= 1)
    if (field.packed) writeScalar(writer, field, type, list[index])
    else writeTagged(writer, field, type, list[index])
  if (field.packed && list.length > 0) writeHead(writer, field.number, writer.length - end)
}

/** Entries are messages: the key is field 1, the value field 2; both are written even if they are zero. */
function writeMap(writer: ReverseWriter, field: MapField, entries: Fields): void {
  if (field.mapKey !== ScalarType.STRING) throw new TypeError(`${field.toString()} has keys that are not strings`)
  for (const key of Object.keys(entries).reverse()) {
    const end = writer.length
    const value = entries[key]
    if (field.mapKind === 'message') {
      writeContent(writer, field, field.message, value)
      writeHead(writer, 2, writer.length - end)
    } else writeTagged(writer, field, field.scalar ?? ScalarType.INT32, value, 2)
    const endOfKey = writer.length
    writer.text(key)
    writeHead(writer, 1, writer.length - endOfKey)
    writeHead(writer, field.number, writer.length - end)
  }
}

/** Tag and size of what was written last. */
function writeHead(writer: ReverseWriter, number: number, size: number): void {
  writer.varint(size)
  writer.varint(((number << 3) | WireType.LengthDelimited) >>> 0)
}

function writeTagged(
  writer: ReverseWriter,
  field: DescField,
  type: ScalarType,
  value: unknown,
  number = field.number,
): void {
  const end = writer.length
  writeScalar(writer, field, type, value)
  if (type === ScalarType.STRING || type === ScalarType.BYTES) writer.varint(writer.length - end)
  writer.varint(((number << 3) | wireTypeOf(type)) >>> 0)
}

/** The value without a tag and, of strings and bytes, without the size. */
function writeScalar(writer: ReverseWriter, field: DescField, type: ScalarType, value: unknown): void {
  switch (type) {
    case ScalarType.STRING:
      writer.text(value as string)
      return
    case ScalarType.BYTES:
      writer.raw(value as Uint8Array)
      return
    case ScalarType.BOOL:
      writer.varint(value === true ? 1 : 0)
      return
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.INT64:
    case ScalarType.UINT64: {
      const plain = Number(value)
      if (plain >= 0 && plain <= MAX_PLAIN_VARINT && Number.isInteger(plain)) writer.varint(plain)
      else writer.raw(encodeScalar(field, type, value))
      return
    }
    default:
      writer.raw(encodeScalar(field, type, value))
  }
}

/** Rare scalars, as the library encodes them. */
function encodeScalar(field: DescField, type: Scalar, value: unknown): Uint8Array {
  const writer = new BinaryWriter()
  try {
    switch (type) {
      case ScalarType.DOUBLE:
        return writer.double(value as number).finish()
      case ScalarType.FLOAT:
        return writer.float(value as number).finish()
      case ScalarType.INT32:
        return writer.int32(value as number).finish()
      case ScalarType.UINT32:
        return writer.uint32(value as number).finish()
      case ScalarType.INT64:
        return writer.int64(value as bigint).finish()
      case ScalarType.UINT64:
        return writer.uint64(value as bigint).finish()
      case ScalarType.SINT32:
        return writer.sint32(value as number).finish()
      case ScalarType.SINT64:
        return writer.sint64(value as bigint).finish()
      case ScalarType.FIXED32:
        return writer.fixed32(value as number).finish()
      case ScalarType.FIXED64:
        return writer.fixed64(value as bigint).finish()
      case ScalarType.SFIXED32:
        return writer.sfixed32(value as number).finish()
      case ScalarType.SFIXED64:
        return writer.sfixed64(value as bigint).finish()
      case ScalarType.BOOL:
        return writer.bool(value as boolean).finish()
    }
  } catch (error) {
    const reason = errorMessage(error)
    throw new TypeError(`cannot encode ${field.toString()}: ${reason}`, { cause: error })
  }
}

function wireTypeOf(type: ScalarType): WireType {
  switch (type) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32
    default:
      return WireType.Varint
  }
}
