import type { ApplyReport, ApplyWork, DriverMetrics } from '@osm-ts/driver-api'

import { type ChangeCause, ChangeRecord, type ChangeReport } from './change-record.js'
import { PushMetrics } from './push-metrics.js'

/** Changes that are kept. */
export const MAX_CHANGES = 64

/** What a recomputation came to. */
export interface Recomputation {
  /** Parts that were computed again. */
  readonly parts: number
  /** Proxies whose policy is another one. */
  readonly changed: number
}

/** A recomputation that may take several turns of the event loop. */
export interface RunningRecomputation {
  /** Runs a piece of it that is done before this returns. */
  readonly during: <T>(work: () => T) => T
  readonly end: (result: Recomputation) => void
}

/** The way of each change from its first event to the last acknowledgement, for metrics and the debug page. */
export class PushLog {
  readonly metrics: PushMetrics
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  readonly #wallClock: () => number
  #changes: ChangeRecord[] = []
  #count = 0
  #current: ChangeRecord | undefined

  /** @param wallClock - milliseconds since 1970 */
  constructor(metrics: DriverMetrics, wallClock: () => number, now: () => number = () => performance.now()) {
    this.metrics = new PushMetrics(metrics)
    this.#wallClock = wallClock
    this.now = now
  }

  /** The change that is computed at the moment. */
  get current(): ChangeRecord | undefined {
    return this.#current
  }

  /**
   * Begins a recomputation. Proxies that are offered a policy {@link RunningRecomputation.during} it count as touched by that change; one that changes no policy
   * leaves no trace but its time, and one that does not end none.
   *
   * @param debounceMs - time since the first of its events
   */
  begin(cause: ChangeCause, debounceMs: number): RunningRecomputation {
    const start = this.now()
    const change = new ChangeRecord(
      this.#count + 1,
      cause,
      debounceMs,
      this.#wallClock() - debounceMs,
      start - debounceMs,
    )
    return {
      during: (work) => {
        this.#current = change
        try {
          return work()
        } finally {
          this.#current = undefined
        }
      },
      end: ({ parts, changed }) => {
        change.parts = parts
        change.changed = changed
        change.recomputeMs = this.now() - start
        change.complete()
        this.metrics.debounced(debounceMs)
        if (changed === 0 && !change.touchesProxies) return
        this.#count += 1
        this.#changes.push(change)
        if (this.#changes.length > MAX_CHANGES) this.#changes.shift()
      },
    }
  }

  /** Follows the changes that concern one session. */
  follow(proxyClass: string): SessionPushes {
    return new SessionPushes(this, proxyClass)
  }

  /** The last changes, the newest first. */
  report(): readonly ChangeReport[] {
    return this.#changes.map((change) => change.report()).reverse()
  }
}

interface Waiting {
  readonly change: ChangeRecord
  readonly offeredAt: number
  /** Of the step that brings it; undefined until the driver has taken one, and for endpoints apart from policies. */
  revision: number | undefined
  /** Of endpoints apart from policies. */
  readonly endpoints?: number
  rejected: boolean
}

/** The changes that one session has not acknowledged yet. */
export class SessionPushes {
  readonly #log: PushLog
  readonly #class: string
  #waiting: Waiting[] = []
  #acknowledged = 0

  constructor(log: PushLog, proxyClass: string) {
    this.#log = log
    this.#class = proxyClass
  }

  /** The proxy has another policy by the change that is computed at the moment. */
  offered(): void {
    this.#touch({})
  }

  /** The proxy has other endpoints, apart from its policy, by the change that is computed at the moment. */
  offeredEndpoints(generation: number): void {
    this.#touch({ endpoints: generation })
  }

  /** Endpoints are awaited no more: the policy does not name them any longer. */
  forgottenEndpoints(): void {
    const concerns = (entry: Waiting): boolean => entry.endpoints !== undefined
    for (const entry of this.#waiting.filter(concerns)) leave(entry)
    this.#waiting = this.#waiting.filter((entry) => !concerns(entry))
  }

  #touch(more: Pick<Waiting, 'endpoints'>): void {
    const change = this.#log.current
    if (change === undefined) return
    change.touch()
    this.#waiting.push({ change, offeredAt: this.#log.now(), revision: undefined, rejected: false, ...more })
    // By then the page does not show it any more.
    if (this.#waiting.length > MAX_CHANGES) leave(this.#waiting.shift())
  }

  /** The driver has taken the step of that revision; where changes have cancelled out, it has it already. */
  given(revision: number): void {
    if (this.#waiting.length === 0) return
    const now = this.#log.now()
    for (const entry of this.#waiting) {
      if (entry.revision !== undefined || entry.endpoints !== undefined) continue
      entry.revision = revision
      const ms = now - entry.offeredAt
      entry.change.queue.add(ms)
      this.#log.metrics.queued(this.#class, ms)
    }
    if (revision <= this.#acknowledged) this.#settle(isStepOf(revision), now)
  }

  reported({ revision, complete, parts, work, endpoints }: ApplyReport): void {
    if (work !== undefined) this.#note(work, revision)
    if (this.#waiting.length > 0 && parts.some(({ state }) => state === 'rejected')) this.#reject(revision)
    if (endpoints !== undefined && this.#waiting.length > 0)
      this.#settle((entry) => entry.endpoints !== undefined && entry.endpoints <= endpoints, this.#log.now())
    if (!complete) return
    this.#acknowledged = Math.max(this.#acknowledged, revision)
    if (this.#waiting.length > 0) this.#settle(isStepOf(revision), this.#log.now())
  }

  /** The session has ended. */
  close(): void {
    for (const entry of this.#waiting) leave(entry)
    this.#waiting = []
  }

  #note(work: ApplyWork, revision: number): void {
    this.#log.metrics.worked(this.#class, work)
    for (const { change, revision: given, endpoints } of this.#waiting) {
      if (endpoints === undefined && (given === undefined || given > revision)) continue
      change.driverQueue.add(work.queueMs)
      change.translate.add(work.translateMs)
      change.encode.add(work.encodeMs)
      change.send.add(work.sendMs)
      change.bytes += work.bytes
    }
  }

  #reject(revision: number): void {
    for (const entry of this.#waiting) {
      if (entry.rejected || (entry.endpoints === undefined && !isStepOf(revision)(entry))) continue
      entry.rejected = true
      entry.change.rejected += 1
    }
  }

  #settle(isAnswered: (entry: Waiting) => boolean, now: number): void {
    const rest: Waiting[] = []
    for (const entry of this.#waiting) {
      if (!isAnswered(entry)) rest.push(entry)
      else if (!entry.rejected) {
        const ms = now - entry.change.startedAt
        entry.change.acknowledge(ms)
        this.#log.metrics.converged(this.#class, ms)
      }
    }
    this.#waiting = rest
  }
}

function isStepOf(revision: number): (entry: Waiting) => boolean {
  return (entry) => entry.revision !== undefined && entry.revision <= revision
}

function leave(entry: Waiting | undefined): void {
  if (entry !== undefined && !entry.rejected) entry.change.left += 1
}
