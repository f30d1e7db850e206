/** Beginnings that are remembered; a worker could make up more. */
const MAX_REMEMBERED = 16

interface Seen {
  /** Milliseconds of its last report. */
  last: number
  /** It has reported again after another one had. */
  again: boolean
}

/** Counts the workers that use one certificate, by when each says that it began. */
export class WorkerRegistry {
  readonly #silenceMs: number
  /** The one that reported last is the last one. */
  readonly #seen = new Map<string, Seen>()

  /** @param silenceMs - a worker that was silent for so long is gone */
  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** A worker that began then has reported. */
  report(since: string, now: number): void {
    this.#forget(now)
    const known = this.#seen.get(since)
    const isLatest = [...this.#seen.keys()].at(-1) === since
    // One that returns after another has reported was not replaced by it.
    this.#seen.delete(since)
    this.#seen.set(since, { last: now, again: known !== undefined && (known.again || !isLatest) })
    const [oldest] = this.#seen.keys()
    if (this.#seen.size > MAX_REMEMBERED && oldest !== undefined) this.#seen.delete(oldest)
  }

  /** Workers at the same time: 1 also while one takes the place of another. */
  count(now: number): number {
    this.#forget(now)
    return Math.max(1, [...this.#seen.values()].some(({ again }) => again) ? this.#seen.size : 1)
  }

  #forget(now: number): void {
    for (const [since, { last }] of this.#seen) if (now - last > this.#silenceMs) this.#seen.delete(since)
  }
}
