/** Listeners that all hear of a value, whatever one of them does. */
export class Broadcast<T> {
  readonly #listeners = new Set<(value: T) => void>()
  readonly #onFault: (error: unknown) => void

  /** @param onFault - told of what a listener throws: a fault of the program */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault
  }

  /** The result ends it. */
  add(listener: (value: T) => void): () => void {
    const entry = (value: T): void => {
      listener(value)
    }
    this.#listeners.add(entry)
    return () => this.#listeners.delete(entry)
  }

  tell(value: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(value)
      } catch (error) {
        this.#onFault(error)
      }
    }
  }
}
