/** How often a query ran. */
export interface QueryCount {
  /** Times it was computed. */
  readonly computed: number
  /** Of those, times that the result differed from the one before; the first result of a key counts. */
  readonly changed: number
  /** Times that an unverified value turned out right without computing. */
  readonly verified: number
}

/** Counts by query name since the last reset. */
export class Counters {
  readonly #counts = new Map<string, { computed: number; changed: number; verified: number }>()

  computed(name: string, changed: boolean): void {
    const count = this.#of(name)
    count.computed += 1
    if (changed) count.changed += 1
  }

  verified(name: string): void {
    this.#of(name).verified += 1
  }

  /** A copy, by name, sorted. */
  read(): ReadonlyMap<string, QueryCount> {
    return new Map([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => [name, { ...count }]))
  }

  reset(): void {
    this.#counts.clear()
  }

  #of(name: string): { computed: number; changed: number; verified: number } {
    let count = this.#counts.get(name)
    if (count === undefined) {
      count = { computed: 0, changed: 0, verified: 0 }
      this.#counts.set(name, count)
    }
    return count
  }
}
