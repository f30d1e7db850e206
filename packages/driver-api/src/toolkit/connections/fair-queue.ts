interface Waiting<T> {
  readonly item: T
  readonly since: number
}

/** What one source has in the queue, the oldest first. */
type Line<T> = Map<T, Waiting<T>>

/**
 * A queue that gives sources their turn one after the other, however many items each of them has in it.
 *
 * Within a source the oldest item comes first. Once the oldest has waited longer than its peer is likely to, the newest comes first: with a queue that is too long, some are served in time instead of all too late.
 */
export class FairQueue<T> {
  readonly #newestFirstAfterMs: number
  readonly #now: () => number
  /** The source whose turn is next comes first. */
  readonly #lines = new Map<string, Line<T>>()
  /** Items of each source, the newest last, those that have left included. */
  readonly #newest = new Map<string, T[]>()
  #size = 0

  /**
   * @param newestFirstAfterMs - how long the oldest item of a source may wait before its newest is served
   * @param now - milliseconds of a clock that never goes back
   */
  constructor(newestFirstAfterMs: number, now: () => number = () => performance.now()) {
    this.#newestFirstAfterMs = newestFirstAfterMs
    this.#now = now
  }

  /** Items that wait. */
  get size(): number {
    return this.#size
  }

  /** Adds an item that is not in the queue. */
  add(source: string, item: T): void {
    const line: Line<T> = this.#lines.get(source) ?? new Map<T, Waiting<T>>()
    line.set(item, { item, since: this.#now() })
    this.#lines.set(source, line)
    const newest = this.#newest.get(source) ?? []
    newest.push(item)
    this.#newest.set(source, newest)
    this.#size += 1
  }

  /** Removes an item that may be in the queue. */
  delete(source: string, item: T): void {
    const line = this.#lines.get(source)
    if (line?.delete(item) !== true) return
    this.#size -= 1
    if (line.size === 0) {
      this.#lines.delete(source)
      this.#newest.delete(source)
      return
    }
    const newest = this.#newest.get(source) ?? []
    if (newest.length > 2 * line.size + 16) this.#newest.set(source, [...line.keys()])
  }

  /**
   * Takes the item whose turn it is.
   *
   * @param mayTake - false for a source that has to wait although it is its turn
   */
  take(mayTake: (source: string) => boolean): T | undefined {
    for (const [source, line] of this.#lines) {
      if (!mayTake(source)) continue
      const item = this.#choose(source, line)
      if (item === undefined) continue
      // Its next turn comes after that of all others.
      this.#lines.delete(source)
      this.#lines.set(source, line)
      this.delete(source, item)
      return item
    }
    return undefined
  }

  #choose(source: string, line: Line<T>): T | undefined {
    const [oldest] = line.values()
    if (oldest === undefined || this.#now() - oldest.since <= this.#newestFirstAfterMs) return oldest?.item
    const newest = this.#newest.get(source) ?? []
    for (let item = newest.pop(); item !== undefined; item = newest.pop()) if (line.has(item)) return item
    return oldest.item
  }
}
