/** Something that was built and is kept while it is held. */
interface Entry {
  holders: number
  /** What it was built from, each once. */
  readonly uses: readonly Entry[]
  /** Takes the entry out of its table. */
  forget(): void
}

/** A result, and everything that it was built from, kept until {@link release}. */
export interface Lease<T> {
  readonly value: T
  /** Lets go; calling it again does nothing. */
  readonly release: () => void
}

/**
 * Results by key, each built once and kept exactly as long as somebody needs it.
 *
 * Whatever is requested while a result is being built belongs to that result: it stays as long as the result does. So the memory is bounded by what
 * live leases need, without a limit that would have to be guessed and without waiting for the garbage collector.
 */
export class Memo {
  /** What the result under construction has requested so far. */
  #uses: Set<Entry> | undefined
  readonly #tables: { readonly size: number }[] = []

  /** A table of this memo. Keys must say everything that a result depends on. */
  table<T>(): MemoTable<T> {
    const table = new MemoTable<T>(this)
    this.#tables.push(table)
    return table
  }

  /** Number of results that are held. */
  get size(): number {
    return this.#tables.reduce((size, table) => size + table.size, 0)
  }

  /** Builds something that is not shared itself, but holds what is. */
  lease<T>(build: () => T): Lease<T> {
    const { value, uses } = this.collect(build)
    return { value, release: releaser(uses) }
  }

  /** Runs `build` and collects its dependencies; releases them if it throws. */
  collect<T>(build: () => T): { readonly value: T; readonly uses: readonly Entry[] } {
    const outer = this.#uses
    const uses = new Set<Entry>()
    this.#uses = uses
    try {
      const value = build()
      // There are tens of thousands of entries, and a set of a few takes four times the memory of a list.
      return { value, uses: [...uses] }
    } catch (error) {
      letGo(uses)
      throw error
    } finally {
      this.#uses = outer
    }
  }

  /** Makes the result under construction a holder of the entry. */
  hold(entry: Entry): void {
    if (this.#uses === undefined) throw new TypeError('nothing would hold the result: ask for it inside of a lease')
    if (this.#uses.has(entry)) return
    this.#uses.add(entry)
    entry.holders += 1
  }
}

/** Results of one kind; see {@link Memo.table}. */
export class MemoTable<T> {
  readonly #memo: Memo
  readonly #entries = new Map<string, KeptEntry<T>>()

  constructor(memo: Memo) {
    this.#memo = memo
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * The result of the key, built now if no one holds it.
   *
   * @param onForget - told when no one holds what was built any more
   */
  get(key: string, build: () => T, onForget?: (value: T) => void): T {
    let entry = this.#entries.get(key)
    if (entry === undefined) {
      const { value, uses } = this.#memo.collect(build)
      entry = new KeptEntry(value, uses, { entries: this.#entries, key, onForget })
      this.#entries.set(key, entry)
    }
    this.#memo.hold(entry)
    return entry.value
  }
}

/** Where a result is kept. */
interface Place<T> {
  readonly entries: Map<string, KeptEntry<T>>
  readonly key: string
  readonly onForget: ((value: T) => void) | undefined
}

class KeptEntry<T> implements Entry {
  holders = 0
  readonly value: T
  readonly uses: readonly Entry[]
  readonly #place: Place<T>

  constructor(value: T, uses: readonly Entry[], place: Place<T>) {
    this.value = value
    this.uses = uses
    this.#place = place
  }

  forget(): void {
    const { entries, key, onForget } = this.#place
    entries.delete(key)
    onForget?.(this.value)
  }
}

/** Releases the entries once. Has no reference to the result, so that it does not keep the result in memory. */
function releaser(uses: readonly Entry[]): () => void {
  let held = true
  return () => {
    if (held) letGo(uses)
    held = false
  }
}

function letGo(entries: Iterable<Entry>): void {
  for (const entry of entries) {
    entry.holders -= 1
    if (entry.holders > 0) continue
    entry.forget()
    letGo(entry.uses)
  }
}
