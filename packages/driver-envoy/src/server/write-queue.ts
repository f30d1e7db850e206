import { TurnQueue } from './turn-queue.js'

/** A stream that responses are written to. */
export interface Writer {
  /** Writes what is due, if anything is. Calls `done` once when that has left the process or is given up. Must not throw. */
  writeNext(done: () => void): void
}

/** Bounds of a {@link WriteQueue}. */
export interface WriteQueueOptions {
  /** Writers that are written to at the same moment. */
  readonly maxInFlight: number
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
}

/**
 * Writes to many streams: to a few at the same moment, the others wait in the order in which they came. What is written is decided when it is a stream's
 * turn, so that a proxy that had to wait is sent the newest state.
 */
export class WriteQueue {
  readonly #queue: TurnQueue<Writer>
  readonly #maxInFlight: number
  #inFlight = 0

  constructor({ maxInFlight, turnMs }: WriteQueueOptions) {
    this.#maxInFlight = maxInFlight
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
    this.#inFlight += 1
    if (this.#inFlight >= this.#maxInFlight) this.#queue.pause()
    let isHeld = true
    writer.writeNext(() => {
      if (!isHeld) return
      isHeld = false
      this.#inFlight -= 1
      if (this.#inFlight < this.#maxInFlight) this.#queue.resume()
    })
  }
}
