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
  /** Responses that may be on their way at the same moment. */
  readonly maxInFlight: number
  /** More of them may be while all of them together have fewer bytes. */
  readonly smallBytes: number
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
}

/**
 * Writes to many streams in the order in which they came. While many responses are on their way, the others wait. What is written is decided when it is a
 * stream's turn, so that a proxy that had to wait is sent the newest state.
 *
 * Small responses do not wait: a small change is written to all proxies in one turn, before any of their acknowledgements is read.
 */
export class WriteQueue {
  readonly #queue: TurnQueue<Writer>
  readonly #maxInFlight: number
  readonly #smallBytes: number
  #inFlight = 0
  #bytesInFlight = 0

  constructor({ maxInFlight, smallBytes, turnMs }: WriteQueueOptions) {
    this.#maxInFlight = maxInFlight
    this.#smallBytes = smallBytes
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
    let [isOver, bytes] = [false, 0]
    this.#inFlight += 1
    const written = writer.writeNext(() => {
      if (isOver) return
      isOver = true
      this.#inFlight -= 1
      this.#bytesInFlight -= bytes
      if (!this.#isFull) this.#queue.resume()
    })
    if (isOver) return
    bytes = written
    this.#bytesInFlight += bytes
    if (this.#isFull) this.#queue.pause()
  }

  get #isFull(): boolean {
    return this.#inFlight >= this.#maxInFlight && this.#bytesInFlight >= this.#smallBytes
  }
}
