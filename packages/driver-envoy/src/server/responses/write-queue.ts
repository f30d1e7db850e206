import { TurnQueue } from './turn-queue.js'

/** A stream that responses are written to. */
export interface Writer {
  /**
   * Writes what is due, if anything is. Must not throw.
   *
   * @param done - called when the response has left the process or is given up, or at once if nothing was due
   * @returns bytes of the response; 0 if nothing was due
   */
  writeNext(done: () => void): number
}

/** Bounds of a {@link WriteQueue}. */
export interface WriteQueueOptions {
  /** Bytes that may be on their way when the next response is written. */
  readonly maxBytesInFlight: number
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
}

/**
 * Writes to many streams in the order in which they came. While many bytes are on their way, the others wait. What is written is decided when it is a
 * stream's turn, so that a proxy that had to wait is sent the newest state.
 *
 * The bound is in bytes: a small change is written to all proxies in one turn, before any of their acknowledgements is read.
 */
export class WriteQueue {
  readonly #queue: TurnQueue<Writer>
  readonly #maxBytesInFlight: number
  #bytesInFlight = 0

  constructor({ maxBytesInFlight, turnMs }: WriteQueueOptions) {
    this.#maxBytesInFlight = maxBytesInFlight
    this.#queue = new TurnQueue({ work: (writer) => this.#write(writer), turnMs })
  }

  /** The writer has something to write, or may have. */
  add(writer: Writer): void {
    this.#queue.add(writer)
  }

  /** The writer is gone. A write that is under way is its own business. */
  delete(writer: Writer): void {
    this.#queue.delete(writer)
  }

  #write(writer: Writer): void {
    let [isOver, counted] = [false, 0]
    const bytes = writer.writeNext(() => {
      isOver = true
      this.#bytesInFlight -= counted
      counted = 0
      if (this.#bytesInFlight < this.#maxBytesInFlight) this.#queue.resume()
    })
    if (isOver) return
    counted = bytes
    this.#bytesInFlight += bytes
    if (this.#bytesInFlight >= this.#maxBytesInFlight) this.#queue.pause()
  }
}
