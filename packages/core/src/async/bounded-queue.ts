/**
 * A first-in-first-out queue with a bound, read by one consumer.
 *
 * When it is full the oldest item gives way, and the consumer is told how many were lost before it reads on.
 */
export class BoundedQueue<T> {
  readonly #capacity: number
  readonly #items: T[] = []
  #lost = 0
  #wake: (() => void) | undefined

  /** @param capacity - items held at most; at least 1 */
  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`capacity must be a positive integer, not ${capacity}`)
    this.#capacity = capacity
  }

  get size(): number {
    return this.#items.length
  }

  push(item: T): void {
    if (this.#items.length === this.#capacity) {
      this.#items.shift()
      this.#lost += 1
    }
    this.#items.push(item)
    this.#wake?.()
  }

  /** Yields items, and the number of lost ones where some were lost, until the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<{ readonly item: T } | { readonly lost: number }, void, undefined> {
    while (!signal.aborted) {
      if (this.#lost > 0) {
        const lost = this.#lost
        this.#lost = 0
        yield { lost }
        continue
      }
      const item = this.#items.shift()
      if (item !== undefined) {
        yield { item }
        continue
      }
      await this.#pushed(signal)
    }
  }

  #pushed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wake = undefined
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#wake = done
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
