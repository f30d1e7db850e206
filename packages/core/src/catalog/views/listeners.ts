/** Functions that want to hear of something. One that throws keeps none of the others from hearing of it. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>()

  /** The result ends the subscription. */
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
   * @throws AggregateError of what listeners threw, after all were called
   */
  notify(value: T): void {
    const errors: unknown[] = []
    for (const listener of [...this.#listeners]) {
      try {
        listener(value)
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'listeners of the mesh catalog threw')
  }
}
