import { Latest } from '@osm-ts/driver-api/toolkit'

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
