/** DER that is cut short, or has something else than it should. */
export class DerError extends Error {
  override readonly name = 'DerError'
}

const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  sequence: 0x30,
  set: 0x31,
  issuerId: 0x81,
  subjectId: 0x82,
  tagged0: 0xa0,
  tagged1: 0xa1,
  tagged3: 0xa3,
} as const

type Kind = keyof typeof TAGS

/**
 * Reads the few elements of DER of which requests, certificates and signed messages consist, in order. Every length is checked against what is left, and nothing
 * is read twice.
 */
export class DerReader {
  readonly #bytes: Buffer
  /** For messages. */
  readonly #what: string
  #at = 0

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes
    this.#what = what
  }

  get isEmpty(): boolean {
    return this.#at === this.#bytes.length
  }

  /** @throws DerError if anything is left */
  end(): void {
    if (!this.isEmpty) throw new DerError(`${this.#what} has ${this.#bytes.length - this.#at} bytes too many`)
  }

  /** The elements of a sequence. */
  sequence(): DerReader {
    return this.inside('sequence')
  }

  /** The elements of an element of this kind. */
  inside(kind: Kind): DerReader {
    return new DerReader(this.#take(kind).content, this.#what)
  }

  /** Content of an element. */
  content(kind: Kind): Buffer {
    return this.#take(kind).content
  }

  /** An element with its header. */
  whole(kind: Kind): Buffer {
    return this.#take(kind).element
  }

  skip(kind: Kind): void {
    this.#take(kind)
  }

  /** Content of an element that may be left out. */
  optional(kind: Kind): Buffer | undefined {
    return this.#bytes[this.#at] === TAGS[kind] ? this.#take(kind).content : undefined
  }

  /** A bit string of whole bytes. */
  bitString(): Buffer {
    const { content } = this.#take('bitString')
    if (content[0] !== 0) throw new DerError(`${this.#what} has a bit string that is not of whole bytes`)
    return content.subarray(1)
  }

  #take(kind: Kind): { readonly element: Buffer; readonly content: Buffer } {
    const start = this.#at
    if (this.#bytes[start] !== TAGS[kind]) throw new DerError(`${this.#what} has no ${kind} at byte ${start}`)
    let at = start + 1
    let length = this.#bytes[at++] ?? 0
    if (length >= 0x80) {
      // Whatever is read is smaller than 64 kB.
      const count = length & 0x7f
      if (count === 0 || count > 2) throw new DerError(`${this.#what} has an invalid length at byte ${start}`)
      length = 0
      for (let i = 0; i < count; i++) length = length * 256 + (this.#bytes[at++] ?? 0)
    }
    const end = at + length
    if (end > this.#bytes.length) throw new DerError(`${this.#what} ends before its element at byte ${start}`)
    this.#at = end
    return { element: this.#bytes.subarray(start, end), content: this.#bytes.subarray(at, end) }
  }
}
