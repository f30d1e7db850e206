/** A write that is under way. */
export interface WatchedWrite {
  /** The write has come to its end; calling it again does nothing. */
  readonly done: () => void
}

interface Watched {
  readonly startedAt: number
  onSlow: (() => void) | undefined
  readonly onStuck: () => void
}

/** What a {@link WriteWatch} holds writes to. Milliseconds. */
export interface WriteLimits {
  readonly slowWriteMs: number
  readonly writeTimeoutMs: number
}

/** How often it looks, as a share of the shorter time. */
const LOOKS = 4

/**
 * Notices writes that take long. One timer for all, which runs only while something is written: nearly every write is over within a millisecond, and a
 * change is written to thousands of streams.
 */
export class WriteWatch {
  readonly #limits: WriteLimits
  /** In the order in which they began. */
  readonly #writes = new Set<Watched>()
  #timer: NodeJS.Timeout | undefined

  constructor(limits: WriteLimits) {
    this.#limits = limits
  }

  /** Writes under way. */
  get size(): number {
    return this.#writes.size
  }

  /**
   * A write begins.
   *
   * @param onSlow - called once after `slowWriteMs`, up to a quarter later
   * @param onStuck - called once after `writeTimeoutMs`, up to a quarter of the other time later; the write is then watched no more
   */
  begin(onSlow: () => void, onStuck: () => void): WatchedWrite {
    const write: Watched = { startedAt: performance.now(), onSlow, onStuck }
    this.#writes.add(write)
    this.#timer ??= setInterval(() => this.#look(), this.#limits.slowWriteMs / LOOKS).unref()
    return { done: () => this.#writes.delete(write) }
  }

  #look(): void {
    const now = performance.now()
    const { slowWriteMs, writeTimeoutMs } = this.#limits
    for (const write of this.#writes) {
      const age = now - write.startedAt
      if (age < slowWriteMs) break
      write.onSlow?.()
      write.onSlow = undefined
      if (age < writeTimeoutMs) continue
      this.#writes.delete(write)
      write.onStuck()
    }
    if (this.#writes.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
