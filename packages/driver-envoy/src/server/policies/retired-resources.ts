/** How long connections are drained, and by which clock. */
export interface DrainTime {
  readonly ms: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Resources that the policy no longer has and that connections still use while they are drained: without its cluster, a request on such a connection is
 * answered 503. The time of each begins when nothing new refers to it any more.
 */
export class RetiredResources {
  readonly #time: DrainTime
  readonly #until = new Map<string, number>()

  constructor(time: DrainTime) {
    this.#time = time
  }

  /** True if that long has passed since it was asked about for the first time. */
  isOver(name: string): boolean {
    const now = this.#time.now()
    const until = this.#until.get(name) ?? now + this.#time.ms
    if (until > now) {
      this.#until.set(name, until)
      return false
    }
    this.#until.delete(name)
    return true
  }

  /** The policy has it again. */
  revive(name: string): void {
    this.#until.delete(name)
  }

  /** Milliseconds until the time of the next one is over; undefined if time holds none back. What is over may still wait for an acknowledgement. */
  get nextInMs(): number | undefined {
    if (this.#until.size === 0) return undefined
    const now = this.#time.now()
    // Insertion order is that of the times: all wait for the same time.
    for (const until of this.#until.values()) if (until > now) return until - now
    return undefined
  }
}
