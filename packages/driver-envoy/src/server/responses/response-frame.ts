import type { EncodedResource } from '../../resources/types.js'
import { NONCE_LENGTH } from './nonce-source.js'
import type { Push } from '../state/push.js'
import { typeUrls } from '../xds-types.js'

/** The two forms of a response. */
export type Variant = 'delta' | 'sotw'

/** An encoded response. Everything but the nonce is the same for all streams that are sent the same. */
export interface ResponseFrame {
  readonly bytes: Buffer
  /** Where the nonce stands; it has {@link NONCE_LENGTH} ASCII characters. */
  readonly nonceOffset: number
}

/**
 * Encodes a response around resources that are encoded already.
 *
 * The bytes are those that a protobuf library writes, fields in the order of their numbers; a test compares them. Written by hand because a library
 * would copy each resource once more and walk every message for what is a concatenation.
 */
export function frameResponse(variant: Variant, push: Push): ResponseFrame {
  return variant === 'delta' ? frameDelta(push) : frameStateOfTheWorld(push)
}

/** `DiscoveryResponse`: version_info 1, resources 2, type_url 4, nonce 5. */
function frameStateOfTheWorld({ type, version, resources, nonce }: Push): ResponseFrame {
  const typeUrl = typeUrls[type]
  const anySizes = resources.map((resource) => anySize(typeUrl, resource))
  const size =
    textSize(version) +
    anySizes.reduce((sum, any) => sum + fieldSize(any), 0) +
    textSize(typeUrl) +
    fieldSize(NONCE_LENGTH)
  const writer = new FrameWriter(size)
  writer.text(1, version)
  resources.forEach((resource, index) => {
    writer.head(2, anySizes[index] ?? 0)
    writeAny(writer, typeUrl, resource)
  })
  writer.text(4, typeUrl)
  const nonceOffset = writer.slot(5, nonce)
  return { bytes: writer.bytes, nonceOffset }
}

/** `DeltaDiscoveryResponse`: system_version_info 1, resources 2, type_url 4, nonce 5, removed_resources 6. */
function frameDelta({ type, version, resources, removed, nonce, label }: Push): ResponseFrame {
  const typeUrl = typeUrls[type]
  // `Resource`: version 1, resource 2, name 3.
  const anySizes = resources.map((resource) => anySize(typeUrl, resource))
  const sizes = resources.map(
    (resource, index) => textSize(resource.version + label) + fieldSize(anySizes[index] ?? 0) + textSize(resource.name),
  )
  const size =
    textSize(version) +
    sizes.reduce((sum, resource) => sum + fieldSize(resource), 0) +
    textSize(typeUrl) +
    fieldSize(NONCE_LENGTH) +
    removed.reduce((sum, name) => sum + fieldSize(Buffer.byteLength(name)), 0)
  const writer = new FrameWriter(size)
  writer.text(1, version)
  resources.forEach((resource, index) => {
    writer.head(2, sizes[index] ?? 0)
    writer.text(1, resource.version + label)
    writer.head(2, anySizes[index] ?? 0)
    writeAny(writer, typeUrl, resource)
    writer.text(3, resource.name)
  })
  writer.text(4, typeUrl)
  const nonceOffset = writer.slot(5, nonce)
  for (const name of removed) {
    writer.head(6, Buffer.byteLength(name))
    writer.raw(name)
  }
  return { bytes: writer.bytes, nonceOffset }
}

/** `Any`: type_url 1, value 2. */
function anySize(typeUrl: string, { value }: EncodedResource): number {
  return textSize(typeUrl) + (value.length === 0 ? 0 : fieldSize(value.length))
}

function writeAny(writer: FrameWriter, typeUrl: string, { value }: EncodedResource): void {
  writer.text(1, typeUrl)
  if (value.length > 0) {
    writer.head(2, value.length)
    writer.copy(value)
  }
}

/** Size of a string field; an empty one is not written. */
function textSize(text: string): number {
  return text === '' ? 0 : fieldSize(Buffer.byteLength(text))
}

/** Size of a length-delimited field with a number below 16, whose tag is one byte. */
function fieldSize(length: number): number {
  return 1 + varintSize(length) + length
}

function varintSize(value: number): number {
  let size = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) size += 1
  return size
}

/** Writes into one buffer of the exact size. */
class FrameWriter {
  readonly bytes: Buffer
  #position = 0

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size)
  }

  /** Tag and length of a length-delimited field. */
  head(field: number, length: number): void {
    this.#position = this.bytes.writeUInt8((field << 3) | 2, this.#position)
    let rest = length
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80))
      this.#position = this.bytes.writeUInt8((rest % 0x80) | 0x80, this.#position)
    this.#position = this.bytes.writeUInt8(rest, this.#position)
  }

  text(field: number, text: string): void {
    if (text === '') return
    this.head(field, Buffer.byteLength(text))
    this.raw(text)
  }

  /** @returns where the text stands */
  slot(field: number, text: string): number {
    this.head(field, NONCE_LENGTH)
    const start = this.#position
    this.raw(text)
    return start
  }

  raw(text: string): void {
    this.#position += this.bytes.write(text, this.#position, 'utf8')
  }

  copy(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.#position)
    this.#position += bytes.length
  }
}
