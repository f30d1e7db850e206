/** Collects what fails while everything else goes on. */
export class Faults {
  readonly #collected: unknown[]

  constructor(known: readonly unknown[]) {
    this.#collected = [...known]
  }

  /** Runs a function, and keeps what it throws. */
  keep(run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#collected.push(error)
    }
  }

  /** @throws the only fault, or an AggregateError of all */
  raise(): void {
    const [first, ...others] = this.#collected
    if (this.#collected.length === 0) return
    if (others.length === 0) throw first
    throw new AggregateError(this.#collected, `${this.#collected.length} times, first: ${String(first)}`)
  }
}
