import type { Readable } from 'node:stream'

/** A body that was not read. */
class BodyError extends Error {
  /** Of the answer. */
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

/** A body that was read, until its memory is given back. */
export interface ReadBody {
  readonly bytes: Uint8Array
  /** Its memory is used for another body from now on. */
  readonly giveBack: () => void
}

/**
 * Reads bodies of requests into memory that it uses again. V8 does not count the memory of buffers as that of objects: those of large bodies would be kept
 * long after they are done with.
 */
export class BodyReader {
  readonly #limit: number
  #spare: Buffer | undefined

  /** @param limit - bytes of a body at most */
  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Reads a body to its end.
   *
   * @param announced - its length, if its sender says so
   * @throws BodyError if it is too long, or ends too early
   */
  async read(body: Readable, announced?: number): Promise<ReadBody> {
    if (announced !== undefined && announced > this.#limit) throw tooLarge(this.#limit)
    let buffer = this.#take(announced ?? 0)
    let length = 0
    // Anyone who sent too much is told so: the connection stays for the answer.
    for await (const part of body.iterator({ destroyOnReturn: false })) {
      const chunk = part as Buffer // of a stream of bytes
      const end = length + chunk.length
      if (end > this.#limit) throw tooLarge(this.#limit)
      if (end > buffer.length) buffer = grown(buffer, length, Math.min(this.#limit, 2 * end))
      chunk.copy(buffer, length)
      length = end
    }
    if (announced !== undefined && length !== announced)
      throw new BodyError(400, `the body has ${length} bytes, content-length says ${announced}`)
    return { bytes: buffer.subarray(0, length), giveBack: () => this.#keep(buffer) }
  }

  #take(length: number): Buffer {
    const spare = this.#spare
    this.#spare = undefined
    return spare !== undefined && spare.length >= length ? spare : Buffer.allocUnsafeSlow(length)
  }

  #keep(buffer: Buffer): void {
    if (buffer.length > (this.#spare?.length ?? 0)) this.#spare = buffer
  }
}

function grown(buffer: Buffer, used: number, size: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(size)
  buffer.copy(larger, 0, 0, used)
  return larger
}

function tooLarge(limit: number): BodyError {
  return new BodyError(413, `the body is too large: at most ${limit} bytes are read`)
}
