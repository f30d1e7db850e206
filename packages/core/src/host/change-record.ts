/** Why policies were computed again. Names only. */
export interface ChangeCause {
  /** Keys of the objects that changed; empty where all were read for the first time. */
  readonly objects: readonly string[]
  /** Services and accounts whose endpoints changed. */
  readonly endpoints: readonly string[]
  /** What else is new: `config`, `roots`, `secrets`. */
  readonly others: readonly string[]
}

/** Milliseconds of a stage, over all proxies. */
export interface StageTimes {
  readonly totalMs: number
  readonly maxMs: number
}

/** A change on its way to the proxies, as the debug page shows it. */
export interface ChangeReport {
  /** Counts the changes of this process. */
  readonly change: number
  /** RFC 3339: when the first of its events came. */
  readonly time: string
  readonly cause: ChangeCause
  /** Names that `cause` leaves out because there were too many. */
  readonly unnamed: number
  readonly debounceMs: number
  readonly recomputeMs: number
  /** Parts that were computed again, whether they came out different or not. */
  readonly parts: number
  /** Proxies whose policy is another one now, connected here or not; where endpoints alone changed, those that were connected here. */
  readonly changed: number
  readonly proxies: {
    /** Those of them that were connected here. */
    readonly touched: number
    readonly acknowledged: number
    /** Refused it, or their driver could not translate it. */
    readonly rejected: number
    /** Ended their session before they had answered. */
    readonly left: number
    readonly pending: number
  }
  /** From the policy being there until the driver takes it. */
  readonly queue: StageTimes
  /** The same in the driver, and what it did; as far as drivers measure it. */
  readonly driverQueue: StageTimes
  readonly translate: StageTimes
  readonly encode: StageTimes
  readonly send: StageTimes
  readonly bytes: number
  /** Milliseconds from the first event until one, half and all of the touched proxies had acknowledged; null until then. */
  readonly ack: { readonly firstMs: number | null; readonly medianMs: number | null; readonly lastMs: number | null }
}

/** Names of a cause that are kept: enough to know it, and no list of the mesh. */
const MAX_NAMES = 20

/** Time that proxies spent in one stage. */
class Stage {
  #totalMs = 0
  #maxMs = 0

  add(ms: number): void {
    this.#totalMs += ms
    if (ms > this.#maxMs) this.#maxMs = ms
  }

  get times(): StageTimes {
    return { totalMs: rounded(this.#totalMs), maxMs: rounded(this.#maxMs) }
  }
}

/**
 * A change on its way to the proxies. Once it is known how many it touches, it takes the same memory however many these are: acknowledgements come in the
 * order of their times, so the median is the time of the one in the middle.
 */
export class ChangeRecord {
  readonly queue = new Stage()
  readonly driverQueue = new Stage()
  readonly translate = new Stage()
  readonly encode = new Stage()
  readonly send = new Stage()
  bytes = 0
  recomputeMs = 0
  parts = 0
  changed = 0
  rejected = 0
  left = 0
  readonly #id: number
  readonly #cause: ChangeCause
  readonly #unnamed: number
  readonly #debounceMs: number
  readonly #time: string
  /** When proxies have acknowledged before it was known how many the change touches; undefined from then on. */
  #early: number[] | undefined = []
  #touched = 0
  #acknowledged = 0
  #firstMs: number | null = null
  #medianMs: number | null = null
  #lastMs: number | null = null

  /**
   * @param time - milliseconds since 1970 of the first event
   * @param startedAt - the same on the clock that stages are measured with
   */
  constructor(
    id: number,
    cause: ChangeCause,
    debounceMs: number,
    time: number,
    readonly startedAt: number,
  ) {
    const { objects, endpoints, others } = cause
    this.#id = id
    this.#cause = { objects: objects.slice(0, MAX_NAMES), endpoints: endpoints.slice(0, MAX_NAMES), others }
    this.#unnamed = Math.max(0, objects.length - MAX_NAMES) + Math.max(0, endpoints.length - MAX_NAMES)
    this.#debounceMs = debounceMs
    this.#time = new Date(time).toISOString()
  }

  touch(): void {
    this.#touched += 1
  }

  get touchesProxies(): boolean {
    return this.#touched > 0
  }

  /** @param sinceEventMs - since the first event of the change */
  acknowledge(sinceEventMs: number): void {
    if (this.#early === undefined) this.#count(sinceEventMs)
    else this.#early.push(sinceEventMs)
  }

  /** Every proxy that the change touches has been touched. */
  complete(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const sinceEventMs of early) this.#count(sinceEventMs)
  }

  #count(sinceEventMs: number): void {
    this.#acknowledged += 1
    this.#firstMs ??= sinceEventMs
    if (this.#acknowledged === Math.ceil(this.#touched / 2)) this.#medianMs = sinceEventMs
    if (this.#acknowledged === this.#touched) this.#lastMs = sinceEventMs
  }

  report(): ChangeReport {
    const { rejected, left } = this
    return {
      change: this.#id,
      time: this.#time,
      cause: this.#cause,
      unnamed: this.#unnamed,
      debounceMs: rounded(this.#debounceMs),
      recomputeMs: rounded(this.recomputeMs),
      parts: this.parts,
      changed: Math.max(this.changed, this.#touched),
      proxies: {
        touched: this.#touched,
        acknowledged: this.#acknowledged,
        rejected,
        left,
        pending: this.#touched - this.#acknowledged - rejected - left,
      },
      queue: this.queue.times,
      driverQueue: this.driverQueue.times,
      translate: this.translate.times,
      encode: this.encode.times,
      send: this.send.times,
      bytes: this.bytes,
      ack: {
        firstMs: roundedIf(this.#firstMs),
        medianMs: roundedIf(this.#medianMs),
        lastMs: roundedIf(this.#lastMs),
      },
    }
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

function roundedIf(ms: number | null): number | null {
  return ms === null ? null : rounded(ms)
}
