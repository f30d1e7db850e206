/** Shorter texts are written character by character, which costs less than a call of native code. */
const SHORT_TEXT = 48
const INITIAL_SIZE = 1024
const MAX_ASCII = 0x7f

/**
 * Writes Protocol Buffers from the end to the start, so that the size of a message is known when its head is written: nothing is measured first,
 * and nothing is moved afterwards.
 */
export class ReverseWriter {
  #bytes = Buffer.allocUnsafe(INITIAL_SIZE)
  /** Where the written bytes start. */
  #start = INITIAL_SIZE

  /** Number of bytes that are written. */
  get length(): number {
    return this.#bytes.length - this.#start
  }

  /** A copy of what is written. */
  finish(): Uint8Array {
    const result = new Uint8Array(this.length)
    result.set(this.#bytes.subarray(this.#start))
    return result
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#start -= bytes.length
    this.#bytes.set(bytes, this.#start)
  }

  /** @param value - an integer from 0 to 2^32 - 1 */
  varint(value: number): void {
    let size = 1
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) size += 1
    this.#reserve(size)
    this.#start -= size
    let at = this.#start
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) {
      this.#bytes[at] = (rest & 0x7f) | 0x80
      at += 1
    }
    this.#bytes[at] = rest
  }

  text(value: string): void {
    if (value.length <= SHORT_TEXT && this.#ascii(value)) return
    const size = Buffer.byteLength(value)
    this.#reserve(size)
    this.#start -= size
    this.#bytes.write(value, this.#start, 'utf8')
  }

  /** Writes a short text if it is ASCII. */
  #ascii(value: string): boolean {
    this.#reserve(value.length)
    let at = this.#start
    for (let index = value.length - 1; index >= 0; index -= 1) {
      const code = value.charCodeAt(index)
      if (code > MAX_ASCII) return false
      at -= 1
      this.#bytes[at] = code
    }
    this.#start = at
    return true
  }

  #reserve(size: number): void {
    if (size <= this.#start) return
    const { length } = this
    const bytes = Buffer.allocUnsafe(2 * (length + size))
    this.#bytes.copy(bytes, bytes.length - length, this.#start)
    this.#start = bytes.length - length
    this.#bytes = bytes
  }
}
