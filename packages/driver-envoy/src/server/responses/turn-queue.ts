/** Bounds of a {@link TurnQueue}. */
export interface TurnQueueOptions<T> {
  /** Does what is due for an item. Must not throw. */
  readonly work: (item: T) => void
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

/**
 * Items that have something due, served in the order in which they came, in turns of the event loop. An item is in the queue at most once, so the
 * queue is bounded by the number of items that exist.
 */
export class TurnQueue<T> {
  readonly #options: TurnQueueOptions<T>
  readonly #now: () => number
  readonly #due = new Set<T>()
  #turn: NodeJS.Immediate | undefined
  #isPaused = false

  constructor(options: TurnQueueOptions<T>) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Items that wait. */
  get size(): number {
    return this.#due.size
  }

  add(item: T): void {
    this.#due.add(item)
    this.#schedule()
  }

  delete(item: T): void {
    this.#due.delete(item)
  }

  /** Serves no one until {@link resume}. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#schedule()
  }

  #schedule(): void {
    if (this.#turn !== undefined || this.#isPaused || this.#due.size === 0) return
    this.#turn = setImmediate(() => {
      this.#turn = undefined
      this.#serve()
      this.#schedule()
    })
  }

  #serve(): void {
    const end = this.#now() + this.#options.turnMs
    for (const item of this.#due) {
      this.#due.delete(item)
      this.#options.work(item)
      if (this.#isPaused || this.#now() >= end) return
    }
  }
}
