import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { dictionary as makeDictionary } from '@osm-ts/driver-api/toolkit'

/** How a value is written. */
export interface Codec<T> {
  /** Type in the .proto file. */
  readonly proto: string
  readonly wireType: WireType
  /** The default of proto3, which is not sent. */
  readonly empty: T
  write(writer: BinaryWriter, value: T): void
  read(reader: BinaryReader): T
}

/** A field of a message. */
export interface Field<T = unknown> {
  readonly number: number
  /** Type in the .proto file, with its label. */
  readonly proto: string
  /** Value of a field that was not sent; undefined leaves the member out. */
  initial(): T
  write(writer: BinaryWriter, value: T): void
  read(reader: BinaryReader, wireType: WireType, before: T): T
}

type OptionalNames<F> = {
  [N in keyof F]: F[N] extends Field<infer T> ? (undefined extends T ? N : never) : never
}[keyof F]
type ValueOf<F> = F extends Field<infer T> ? T : never

/** What a message with those fields holds: the value of the contract. Absent optional fields are left out. */
export type MessageOf<F> = { readonly [N in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[N]> } & {
  readonly [N in OptionalNames<F>]?: Exclude<ValueOf<F[N]>, undefined>
}

/** How a message is written and read. */
export interface MessageType<Message = unknown> {
  /** As in the .proto file. */
  readonly name: string
  readonly fields: Readonly<Record<string, Pick<Field, 'number' | 'proto'>>>
  encode(message: Partial<Message>): Buffer
  /** @throws Error if the bytes are not a protocol buffer message */
  decode(bytes: Uint8Array): Message
  /** The type as that of a field. */
  readonly codec: Codec<Message>
}

const string: Codec<string> = {
  proto: 'string',
  wireType: WireType.LengthDelimited,
  empty: '',
  write: (writer, value) => void writer.string(value),
  read: (reader) => reader.string(),
}
const bytes: Codec<Uint8Array> = {
  proto: 'bytes',
  wireType: WireType.LengthDelimited,
  empty: new Uint8Array(),
  write: (writer, value) => void writer.bytes(value),
  read: (reader) => reader.bytes(),
}
const uint32: Codec<number> = {
  proto: 'uint32',
  wireType: WireType.Varint,
  empty: 0,
  write: (writer, value) => void writer.uint32(value),
  read: (reader) => reader.uint32(),
}
/** Counters, which stay below 2^53. */
const uint64: Codec<number> = {
  proto: 'uint64',
  wireType: WireType.Varint,
  empty: 0,
  write: (writer, value) => void writer.uint64(value),
  read: (reader) => Number(reader.uint64()),
}
const double: Codec<number> = {
  proto: 'double',
  wireType: WireType.Bit64,
  empty: 0,
  write: (writer, value) => void writer.double(value),
  read: (reader) => reader.double(),
}
const bool: Codec<boolean> = {
  proto: 'bool',
  wireType: WireType.Varint,
  empty: false,
  write: (writer, value) => void writer.bool(value),
  read: (reader) => reader.bool(),
}
export const scalar = { string, bytes, uint32, uint64, double, bool }

/** The words of an enum, in the order of their numbers from 1. A number without a word becomes `#<number>`, which no check of the contract accepts. */
export function words<const W extends string>(
  name: string,
  ...known: readonly W[]
): Codec<W> & { readonly words: readonly W[] } {
  const numbers = new Map<string, number>(known.map((word, index) => [word, index + 1]))
  return {
    proto: name,
    words: known,
    wireType: WireType.Varint,
    // No member of the contract is unspecified, so that the checks of the contract refuse it.
    empty: '' as W,
    write: (writer, value) =>
      void writer.uint32(numbers.get(value) ?? (/^#\d+$/.test(value) ? Number(value.slice(1)) : 0)),
    read: (reader) => {
      const number = reader.uint32()
      return number === 0 ? ('' as W) : (known[number - 1] ?? (`#${number}` as W))
    },
  }
}

/** A field with the default of proto3. */
export function one<T>(number: number, codec: Codec<T>): Field<T> {
  return {
    number,
    proto: codec.proto,
    initial: () => codec.empty,
    write: (writer, value) => {
      const isEmpty = value instanceof Uint8Array ? value.length === 0 : value === codec.empty
      if (!isEmpty) writeOne(writer, number, codec, value)
    },
    read: (reader, wireType) => readOne(reader, wireType, codec),
  }
}

/** A message, or a field that says `optional`. */
export function maybe<T>(number: number, codec: Codec<T>): Field<T | undefined> {
  const isMessage = typeof codec.empty === 'object' && !(codec.empty instanceof Uint8Array)
  return {
    number,
    proto: isMessage ? codec.proto : `optional ${codec.proto}`,
    initial: () => undefined,
    write: (writer, value) => {
      if (value !== undefined) writeOne(writer, number, codec, value)
    },
    read: (reader, wireType) => readOne(reader, wireType, codec),
  }
}

/** A message that the contract always has. Not sent: the empty one. */
export function always<T>(number: number, codec: Codec<T>): Field<T> {
  const field = maybe(number, codec)
  return {
    number,
    proto: codec.proto,
    initial: () => codec.empty,
    write: (writer, value) => field.write(writer, value),
    read: (reader, wireType) => readOne(reader, wireType, codec),
  }
}

/** A field that repeats. */
export function list<T>(number: number, codec: Codec<T>): Field<readonly T[]> {
  const isPacked = codec.wireType !== WireType.LengthDelimited
  return {
    number,
    proto: `repeated ${codec.proto}`,
    initial: () => [],
    write: (writer, values) => {
      if (isPacked && values.length > 0) {
        writer.tag(number, WireType.LengthDelimited).fork()
        for (const value of values) codec.write(writer, value)
        writer.join()
      } else for (const value of values) writeOne(writer, number, codec, value)
    },
    read: (reader, wireType, before) => {
      // The list that `initial` made for this message. A copy for each field would take the square of their number.
      const items = before as T[]
      if (isPacked && wireType === WireType.LengthDelimited) {
        const end = reader.uint32() + reader.pos
        while (reader.pos < end) items.push(codec.read(reader))
      } else items.push(readOne(reader, wireType, codec))
      return items
    },
  }
}

/** A field of type `map<string, T>`. */
export function dictionary<T>(number: number, codec: Codec<T>): Field<Readonly<Record<string, T>>> {
  const entry = { key: one(1, string), value: one(2, codec) }
  const entryCodec = messageType('', entry).codec
  return {
    number,
    proto: `map<string, ${codec.proto}>`,
    // Without a prototype, a key cannot be one of its names.
    initial: () => makeDictionary<T>([]),
    write: (writer, values) => {
      for (const [key, value] of Object.entries(values)) {
        writer.tag(number, WireType.LengthDelimited).fork()
        entry.key.write(writer, key)
        entry.value.write(writer, value)
        writer.join()
      }
    },
    read: (reader, wireType, before) => {
      const { key, value } = readOne(reader, wireType, entryCodec) as { readonly key: string; readonly value: T }
      // As for lists.
      ;(before as Record<string, T>)[key] = value
      return before
    },
  }
}

/** A message of proto3. What it does not know it skips, so that later versions may add fields. */
export function messageType<const F extends Readonly<Record<string, Field>>>(
  name: string,
  fields: F,
): MessageType<MessageOf<F>> {
  const entries = Object.entries<Field>(fields)
  const byNumber = new Map(entries.map((entry) => [entry[1].number, entry]))
  const encode = (message: Partial<MessageOf<F>>): Buffer => {
    const writer = new BinaryWriter()
    const values = message as Readonly<Record<string, unknown>>
    for (const [key, field] of entries) if (values[key] !== undefined) field.write(writer, values[key])
    return Buffer.from(writer.finish())
  }
  const decode = (content: Uint8Array): MessageOf<F> => {
    const reader = new BinaryReader(content)
    const initial = entries.map(([key, field]): readonly [string, unknown] => [key, field.initial()])
    const values: Record<string, unknown> = Object.fromEntries(initial.filter(([, value]) => value !== undefined))
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag()
      const entry = byNumber.get(number)
      if (entry === undefined) reader.skip(wireType)
      else values[entry[0]] = entry[1].read(reader, wireType, values[entry[0]])
    }
    return values as MessageOf<F>
  }
  return {
    name,
    fields,
    encode,
    decode,
    codec: {
      proto: name,
      wireType: WireType.LengthDelimited,
      get empty() {
        return decode(new Uint8Array())
      },
      write: (writer, value) => void writer.bytes(encode(value)),
      read: (reader) => decode(reader.bytes()),
    },
  }
}

function writeOne<T>(writer: BinaryWriter, number: number, codec: Codec<T>, value: T): void {
  codec.write(writer.tag(number, codec.wireType), value)
}

function readOne<T>(reader: BinaryReader, wireType: WireType, codec: Codec<T>): T {
  if (wireType !== codec.wireType) throw new Error(`a field of type ${codec.proto} has wire type ${wireType}`)
  return codec.read(reader)
}
