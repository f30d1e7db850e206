const HEAD = 5

/** One message of gRPC with its head: not compressed, and as long as it is. */
export function grpcFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD + message.length)
  frame.writeUInt8(0, 0)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, HEAD)
  return frame
}

/** Puts messages of gRPC together from the pieces in which they arrive. */
export class GrpcFrames {
  #pieces: Buffer[] = []
  #length = 0

  /** The messages that are complete with this piece. */
  take(piece: Buffer): readonly Buffer[] {
    this.#pieces.push(piece)
    this.#length += piece.length
    const messages: Buffer[] = []
    for (;;) {
      if (this.#length < HEAD) return messages
      const size = HEAD + this.#head().readUInt32BE(1)
      if (this.#length < size) return messages
      const all = this.#pieces.length === 1 ? (this.#pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces)
      messages.push(all.subarray(HEAD, size))
      const rest = all.subarray(size)
      this.#pieces = rest.length === 0 ? [] : [rest]
      this.#length = rest.length
    }
  }

  #head(): Buffer {
    const [first] = this.#pieces
    if (first !== undefined && first.length >= HEAD) return first
    const all = Buffer.concat(this.#pieces)
    this.#pieces = [all]
    return all
  }
}
