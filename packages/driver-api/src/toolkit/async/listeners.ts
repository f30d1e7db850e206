/** Functions that are called with each value. One that throws does not keep the others from being called. */
export class Listeners<T = void> {
  readonly #listeners = new Set<(value: T) => void>()
  readonly #onFault: ((error: unknown) => void) | undefined

  /** @param onFault - called with what a listener throws; without it, {@link notify} throws */
  constructor(onFault?: (error: unknown) => void) {
    this.#onFault = onFault
  }

  /** Calls the listener with each value from now on. The result ends the subscription. */
  add(listener: (value: T) => void): () => void {
    // Wrapped, so that one function may subscribe twice.
    const entry = (value: T): void => {
      listener(value)
    }
    this.#listeners.add(entry)
    return () => {
      this.#listeners.delete(entry)
    }
  }

  /**
   * Calls all listeners.
   *
   * @throws what a listener threw, after all were called; an AggregateError if several did
   */
  notify(value: T): void {
    const errors: unknown[] = []
    for (const listener of [...this.#listeners]) {
      try {
        listener(value)
      } catch (error) {
        if (this.#onFault === undefined) errors.push(error)
        else this.#onFault(error)
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, 'several listeners threw')
    if (errors.length === 1) throw errors[0]
  }
}
