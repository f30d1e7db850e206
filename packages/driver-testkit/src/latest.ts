/** A value that others follow: the present one, then each later one; those in between are left out. */
export class Latest<T> {
  #value: { readonly value: T } | undefined
  readonly #waiting = new Set<() => void>()

  set(value: T): void {
    this.#value = { value }
    for (const resume of [...this.#waiting]) resume()
  }

  async *watch(signal: AbortSignal): AsyncIterable<T> {
    let seen: { readonly value: T } | undefined
    while (!signal.aborted) {
      if (this.#value !== undefined && this.#value !== seen) {
        seen = this.#value
        yield seen.value
        continue
      }
      await new Promise<void>((resolve) => {
        const done = () => {
          this.#waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        this.#waiting.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    }
  }
}

/** Values that others follow one by one. */
export class Queue<T> {
  readonly #values: T[] = []
  readonly #wake = new Latest<number>()
  #count = 0

  push(value: T): void {
    this.#values.push(value)
    this.#count += 1
    this.#wake.set(this.#count)
  }

  async *watch(signal: AbortSignal): AsyncIterable<T> {
    let next = 0
    for await (const count of this.#wake.watch(signal)) {
      for (; next < count; next += 1) {
        const value = this.#values[next]
        if (value !== undefined) yield value
      }
    }
  }
}
