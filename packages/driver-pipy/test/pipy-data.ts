/** Replaces Pipy's `Data`: bytes that are taken from the front and pushed to the back. */
export class DataStandIn {
  #bytes: Buffer

  constructor(from?: string | readonly number[] | DataStandIn, encoding: 'utf8' | 'hex' = 'utf8') {
    this.#bytes =
      from instanceof DataStandIn
        ? Buffer.from(from.#bytes)
        : typeof from === 'string'
          ? Buffer.from(from, encoding)
          : Buffer.from(from ?? [])
  }

  get size(): number {
    return this.#bytes.length
  }

  push(more: string | DataStandIn): this {
    const bytes = typeof more === 'string' ? Buffer.from(more) : more.#bytes
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    return this
  }

  shift(count: number): DataStandIn {
    return this.#take(0, count)
  }

  pop(count: number): DataStandIn {
    return this.#take(Math.max(this.size - count, 0), this.size)
  }

  shiftTo(isLast: (byte: number) => boolean): DataStandIn {
    const end = this.#bytes.findIndex((byte) => isLast(byte))
    return this.shift(end < 0 ? this.size : end + 1)
  }

  toArray(): number[] {
    return [...this.#bytes]
  }

  /** Undefined for what is not UTF-8, as Pipy has it. */
  toString(encoding?: 'hex'): string {
    if (encoding === 'hex') return this.#bytes.toString('hex')
    const text = this.#bytes.toString()
    return Buffer.from(text).equals(this.#bytes) ? text : (undefined as unknown as string)
  }

  #take(start: number, end: number): DataStandIn {
    const taken = new DataStandIn([...this.#bytes.subarray(start, end)])
    this.#bytes = Buffer.concat([this.#bytes.subarray(0, start), this.#bytes.subarray(end)])
    return taken
  }
}

/** Replaces Pipy's `StreamEnd`. */
export class StreamEndStandIn {
  constructor(readonly error?: string) {}
}

/** Replaces Pipy's `MessageStart`. */
export class MessageStartStandIn {
  constructor(readonly head?: object) {}
}

/** Replaces Pipy's `MessageEnd`. */
export class MessageEndStandIn {
  constructor(readonly tail?: object) {}
}
