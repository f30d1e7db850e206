import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** What a field of a message holds. */
export type FieldKind = 'string' | 'bytes' | 'uint32' | 'uint32s'

/** Number and kind of a field, as in the .proto file. */
export type Field = readonly [number: number, kind: FieldKind]

/** Fields by the name that JavaScript knows them by. */
export type Fields = Readonly<Record<string, Field>>

interface Values {
  readonly string: string
  readonly bytes: Uint8Array
  readonly uint32: number
  readonly uint32s: readonly number[]
}

/** What a message with those fields holds. Absent fields have the defaults of proto3. */
export type MessageOf<F extends Fields> = { readonly [Name in keyof F]: Values[F[Name][1]] }

/** How a message is written and read. */
export interface MessageType<Message = unknown> {
  /** As in the .proto file. */
  readonly name: string
  readonly fields: Fields
  encode(message: Partial<Message>): Buffer
  /** @throws Error if the bytes are no protocol buffer */
  decode(bytes: Uint8Array): Message
}

/** A message of proto3. What it does not know it skips, so that later versions may add fields. */
export function messageType<const F extends Fields>(name: string, fields: F): MessageType<MessageOf<F>> {
  const entries = Object.entries<Field>(fields)
  return {
    name,
    fields,
    encode(message) {
      const writer = new BinaryWriter()
      // Every name of the message is one of the fields, and has the value of its kind.
      const values = message as Readonly<Record<string, Values[FieldKind] | undefined>>
      for (const [key, [number, kind]] of entries) {
        const value = values[key]
        if (value !== undefined) writeField(writer, number, kind, value)
      }
      return Buffer.from(writer.finish())
    },
    decode(bytes) {
      const reader = new BinaryReader(bytes)
      const values: Record<string, Values[FieldKind]> = Object.fromEntries(
        entries.map(([key, [, kind]]) => [key, emptyValue(kind)]),
      )
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag()
        const entry = entries.find(([, [wanted]]) => wanted === number)
        if (entry === undefined) reader.skip(wireType)
        else values[entry[0]] = readField(reader, wireType, entry[1][1], values[entry[0]])
      }
      return values as MessageOf<F> // each name of it was given a value of its kind
    },
  }
}

function emptyValue(kind: FieldKind): Values[FieldKind] {
  switch (kind) {
    case 'string':
      return ''
    case 'bytes':
      return new Uint8Array()
    case 'uint32':
      return 0
    case 'uint32s':
      return []
  }
}

function writeField(writer: BinaryWriter, number: number, kind: FieldKind, value: Values[FieldKind]): void {
  if (kind === 'string' && typeof value === 'string') {
    if (value !== '') writer.tag(number, WireType.LengthDelimited).string(value)
  } else if (kind === 'bytes' && value instanceof Uint8Array) {
    if (value.length > 0) writer.tag(number, WireType.LengthDelimited).bytes(value)
  } else if (kind === 'uint32' && typeof value === 'number') {
    if (value !== 0) writer.tag(number, WireType.Varint).uint32(value)
  } else if (kind === 'uint32s' && Array.isArray(value)) {
    if (value.length === 0) return
    writer.tag(number, WireType.LengthDelimited).fork()
    for (const item of value as readonly number[]) writer.uint32(item)
    writer.join()
  } else throw new TypeError(`field ${number} is no ${kind}`)
}

function readField(
  reader: BinaryReader,
  wireType: WireType,
  kind: FieldKind,
  before: Values[FieldKind] | undefined,
): Values[FieldKind] {
  const expected = kind === 'uint32' ? WireType.Varint : WireType.LengthDelimited
  // Numbers of a list may come one by one as well.
  if (wireType !== expected && !(kind === 'uint32s' && wireType === WireType.Varint))
    throw new Error(`a field of kind ${kind} has wire type ${wireType}`)
  switch (kind) {
    case 'string':
      return reader.string()
    case 'bytes':
      return reader.bytes()
    case 'uint32':
      return reader.uint32()
    case 'uint32s': {
      // The list that emptyValue made for this message. A copy for each field would take the square of their number.
      const items = before as number[]
      if (wireType === WireType.Varint) {
        items.push(reader.uint32())
        return items
      }
      const end = reader.uint32() + reader.pos
      while (reader.pos < end) items.push(reader.uint32())
      return items
    }
  }
}
