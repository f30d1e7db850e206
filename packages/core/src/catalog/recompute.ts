import type { EndpointsAnnouncement } from '../endpoints/index.js'
import type { SnapshotUpdate } from '../snapshot/index.js'
import type { CatalogUpdate } from './policy-computation.js'

/** Quiet time that ends a burst of changes. */
export const DEBOUNCE_MS = 100
/** A burst that does not end is acted on this often all the same. */
export const DEBOUNCE_CEILING_MS = 1000

/** Time as the loop needs it. */
export interface RecomputeClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls back once, after at least `delayMs`; the returned function cancels that. */
  setTimer(callback: () => void, delayMs: number): () => void
}

/**
 * Gathers bursts of changes and hands each over as one.
 *
 * The first update is handed over at once: a mesh that starts has nothing to gather. After that a burst ends with {@link DEBOUNCE_MS} of quiet, or at the
 * latest {@link DEBOUNCE_CEILING_MS} after its first change.
 */
export class Recompute {
  readonly #clock: RecomputeClock
  readonly #apply: (update: CatalogUpdate, waitedMs: number) => Promise<void> | void
  #pending: CatalogUpdate | undefined
  #burstStart = 0
  #cancelTimer: (() => void) | undefined
  #started = false
  #applying: Promise<void> | undefined
  /** A burst has ended while the one before was still taken in. */
  #overdue = false

  /**
   * @param apply - takes an update in, whose first change came so many milliseconds ago, and resolves once it has: until then the next one waits. Must neither
   *   throw nor reject.
   */
  constructor(apply: (update: CatalogUpdate, waitedMs: number) => Promise<void> | void, clock: RecomputeClock) {
    this.#apply = apply
    this.#clock = clock
  }

  /** True if every update has been taken in. */
  get idle(): boolean {
    return this.#pending === undefined && this.#applying === undefined
  }

  /** Takes an update, alone or with others that come soon. */
  add(update: CatalogUpdate): void {
    const now = this.#clock.now()
    if (this.#pending === undefined) this.#burstStart = now
    this.#pending = joinUpdates(this.#pending, update)
    if (!this.#started) {
      this.#started = true
      this.flush()
      return
    }
    this.#cancelTimer?.()
    const untilCeiling = Math.max(0, this.#burstStart + DEBOUNCE_CEILING_MS - now)
    this.#cancelTimer = this.#clock.setTimer(
      () => {
        this.flush()
      },
      Math.min(DEBOUNCE_MS, untilCeiling),
    )
  }

  /** Hands over what was gathered, if anything was; as soon as what was handed over before has been taken in. */
  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#overdue = this.#applying !== undefined
    if (this.#overdue) return
    const update = this.#pending
    this.#pending = undefined
    // The clock may be set back meanwhile.
    if (update === undefined) return
    const applied = this.#apply(update, Math.max(0, this.#clock.now() - this.#burstStart))
    if (applied !== undefined) this.#applying = this.#goOnAfter(applied)
  }

  async #goOnAfter(applied: Promise<void>): Promise<void> {
    await applied
    this.#applying = undefined
    if (this.#overdue) this.flush()
  }

  /** Drops what was gathered and takes nothing more in by itself. Resolves when what was handed over has been taken in. */
  async close(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#pending = undefined
    await this.#applying
  }
}

/** Two updates in order as one. */
function joinUpdates(first: CatalogUpdate | undefined, second: CatalogUpdate): CatalogUpdate {
  if (first === undefined) return second
  const spec = joinSpecs(first.spec, second.spec)
  const endpoints = joinAnnouncements(first.endpoints, second.endpoints)
  return {
    ...first,
    ...second,
    ...(spec === undefined ? {} : { spec }),
    ...(endpoints === undefined ? {} : { endpoints }),
  }
}

function joinSpecs(first: SnapshotUpdate | undefined, second: SnapshotUpdate | undefined): SnapshotUpdate | undefined {
  if (first === undefined || second === undefined) return second ?? first
  return { snapshot: second.snapshot, changed: [...new Set([...first.changed, ...second.changed])].sort() }
}

function joinAnnouncements(
  first: EndpointsAnnouncement | undefined,
  second: EndpointsAnnouncement | undefined,
): EndpointsAnnouncement | undefined {
  if (first === undefined || second === undefined) return second ?? first
  // Named twice, a service is read twice at the most: the computation reads each input once.
  return { services: [...first.services, ...second.services], accounts: [...first.accounts, ...second.accounts] }
}
