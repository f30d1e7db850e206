import type { Logger } from '@osm-ts/driver-api'
import { type Clock, pause, type Random, systemClock } from '@osm-ts/core'
import { errorMessage, onAbort } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject, ObjectName } from './api.js'
import { isKubernetesError } from './kubernetes-error.js'
import {
  leaseMetadata,
  microTime,
  readLease,
  writeLease,
  type LeaseMetadata,
  type LeaseRecord,
} from './lease-record.js'
import { resourceTypes } from './resource-types.js'

/** What a {@link LeaderElector} is made of. */
export interface LeaderElectorOptions {
  readonly api: KubernetesApi
  /** Of the Lease. */
  readonly namespace: string
  /** Of the Lease. */
  readonly name: string
  /** Unlike that of any other candidate that ever lives, so with something random in it. */
  readonly identity: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Of the Lease, when it is made. */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations that the leader writes on the Lease, for the other candidates. */
  readonly annotations?: Readonly<Record<string, string>>
  /** How long others wait after a last sign of life. */
  readonly leaseDurationMs?: number
  /** How long a leader continues without having renewed; shorter than the lease by what clocks and pauses may differ. */
  readonly renewDeadlineMs?: number
  readonly retryPeriodMs?: number
  /** Milliseconds that never run backwards. Absent: those of the process, or of a clock that is not the machine's. */
  readonly monotonic?: () => number
}

const LEASE_DURATION_MS = 15_000
const RENEW_DEADLINE_MS = 10_000
const RETRY_PERIOD_MS = 2_000
/** Candidates spread over this many retry periods more. */
const CANDIDATE_JITTER = 1.2

/** Who leads, as a candidate saw it last. */
export interface ObservedLeader {
  readonly identity: string
  /** Annotations of the Lease. */
  readonly annotations: Readonly<Record<string, string>>
}

/** The Lease as it was last seen. */
interface Observed {
  readonly resourceVersion: string
  readonly metadata: LeaseMetadata
  readonly record: LeaseRecord
  /** When it was first seen like that, by the monotonic clock. */
  readonly at: number
}

/**
 * Elects one of several candidates by a Lease.
 *
 * Safe because of three rules. Every write names the resource version that it changes, so that of two writers one fails.
 * A candidate takes over only when the Lease has not changed for its whole duration, measured by its own monotonic clock
 * from the moment it saw the change: no clock is ever compared with another machine's. And a leader stops when the renew
 * deadline is over, measured from before its last successful write was sent, thus before anyone can have seen that write.
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions
  readonly #lease: ObjectName
  readonly #durationMs: number
  readonly #deadlineMs: number
  readonly #periodMs: number
  readonly #monotonic: () => number
  #observed: Observed | undefined
  #leadsUntil = -Infinity
  #isCutOff = false

  constructor(options: LeaderElectorOptions) {
    this.#options = options
    this.#lease = { namespace: options.namespace, name: options.name }
    this.#durationMs = options.leaseDurationMs ?? LEASE_DURATION_MS
    this.#deadlineMs = options.renewDeadlineMs ?? RENEW_DEADLINE_MS
    this.#periodMs = options.retryPeriodMs ?? RETRY_PERIOD_MS
    if (!(this.#periodMs > 0 && this.#periodMs < this.#deadlineMs && this.#deadlineMs < this.#durationMs)) {
      throw new RangeError('a lease needs 0 < retry period < renew deadline < lease duration')
    }
    const { clock } = options
    this.#monotonic = options.monotonic ?? (clock === systemClock ? () => performance.now() : () => clock.now())
  }

  /** True while this candidate leads. Ask right before a write: it turns false with the deadline, not with the next task. */
  get leading(): boolean {
    return this.#monotonic() < this.#leadsUntil
  }

  /** Another candidate that leads; undefined while this one does, or no one is known to. */
  get other(): ObservedLeader | undefined {
    const { record, metadata } = this.#observed ?? {}
    if (this.leading || record === undefined || record.holder === '' || record.holder === this.#options.identity)
      return undefined
    return { identity: record.holder, annotations: metadata?.annotations ?? {} }
  }

  /** How often the Lease has passed from one candidate to another. */
  get transitions(): number {
    return this.#observed?.record.transitions ?? 0
  }

  /**
   * Stands for election until the signal aborts, and then gives the Lease back.
   *
   * While it leads, `whileLeading` runs; its signal aborts when leadership is lost or the election ends. It should then
   * come to its end at once: after losing, somebody else may lead. If it ends by itself, leadership continues without it;
   * if it throws, the Lease is given back and `run` throws the same.
   */
  async run(signal: AbortSignal, whileLeading: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, random, logger, identity } = this.#options
    while (!signal.aborted) {
      await this.#attempt(this.#deadlineMs, signal)
      if (!this.leading) {
        await pause(clock, this.#periodMs * (1 + CANDIDATE_JITTER * random()), signal)
        continue
      }
      logger.info({ lease: this.#lease.name, identity }, 'this process leads')
      await this.#lead(signal, whileLeading)
      logger.info({ lease: this.#lease.name, identity }, 'this process does not lead any more')
    }
  }

  async #lead(signal: AbortSignal, whileLeading: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const term = new AbortController()
    const tenure = new AbortController()
    const outcome: { ended: boolean; failure?: { readonly error: unknown } } = { ended: false }
    const review = (): void => {
      if (signal.aborted) term.abort(signal.reason)
      // The Lease is kept for as long as the work continues, even if that was told to stop.
      if (outcome.ended && (signal.aborted || outcome.failure !== undefined)) tenure.abort()
    }
    const letGo = onAbort(signal, review)
    const work = (async () => whileLeading(term.signal))()
      .catch((error: unknown) => {
        // Work that was told to stop ends as it likes.
        if (!term.signal.aborted) outcome.failure = { error }
      })
      .then(() => {
        outcome.ended = true
        review()
      })
    await this.#renewUntil(tenure.signal)
    letGo()
    term.abort(new Error('leadership was lost'))
    await work
    await this.#release()
    if (outcome.failure !== undefined) throw outcome.failure.error
  }

  /** Resolves when the signal aborts or leadership is lost. */
  async #renewUntil(signal: AbortSignal): Promise<void> {
    const goesOn = (): boolean => !signal.aborted && this.leading
    while (goesOn()) {
      await pause(this.#options.clock, Math.min(this.#periodMs, this.#leadsUntil - this.#monotonic()), signal)
      if (goesOn()) await this.#attempt(this.#leadsUntil - this.#monotonic(), signal)
    }
  }

  /** Tries once to get or keep the Lease. Never rejects: anyone who cannot reach the API server does not get it. */
  async #attempt(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options
    const limit = new AbortController()
    const cancel = clock.setTimer(() => limit.abort(new Error('the API server took too long')), limitMs)
    const letGo = onAbort(signal, () => limit.abort(signal.reason))
    try {
      if (!(this.leading && (await this.#write(this.#observed, limit.signal)))) await this.#stand(limit.signal)
      this.#isCutOff = false
    } catch (error) {
      if (signal.aborted) return
      const fields = { lease: this.#lease.name, error: errorMessage(error) }
      if (this.#isCutOff) logger.debug(fields, 'the lease can still not be read or written')
      else logger.warn(fields, 'the lease cannot be read or written; trying again')
      this.#isCutOff = true
    } finally {
      cancel()
      letGo()
    }
  }

  /** Looks at the Lease and takes it if it is free. */
  async #stand(signal: AbortSignal): Promise<void> {
    const { api, identity } = this.#options
    const object = await api.get(resourceTypes.Lease, this.#lease, signal)
    if (object !== undefined) this.#observe(object)
    const { record, at } = this.#observed ?? {}
    if (record !== undefined && at !== undefined && record.holder !== '' && record.holder !== identity) {
      this.#leadsUntil = -Infinity
      // A Lease that somebody deleted binds those who have seen it for as long as it would have.
      if (this.#monotonic() < at + record.durationMs) return
    }
    await this.#write(object === undefined ? undefined : this.#observed, signal)
  }

  #observe(object: KubernetesObject): Observed {
    const resourceVersion = object.metadata.resourceVersion ?? ''
    if (this.#observed?.resourceVersion === resourceVersion) return this.#observed
    const record = readLease(object, this.#durationMs)
    this.#observed = { resourceVersion, metadata: leaseMetadata(object), record, at: this.#monotonic() }
    return this.#observed
  }

  /** Writes that this candidate holds the Lease. False if somebody else has written before. */
  async #write(before: Observed | undefined, signal: AbortSignal): Promise<boolean> {
    const { identity, clock } = this.#options
    const now = microTime(clock.now())
    const held = before?.record.holder === identity
    const record: LeaseRecord = {
      holder: identity,
      durationMs: this.#durationMs,
      acquireTime: held ? before.record.acquireTime : now,
      renewTime: now,
      transitions: (before?.record.transitions ?? 0) + (held || before === undefined ? 0 : 1),
    }
    const sentAt = this.#monotonic()
    try {
      const stored = await this.#store(record, before, signal)
      this.#observe(stored)
      this.#leadsUntil = sentAt + this.#deadlineMs
      return true
    } catch (error) {
      if (isKubernetesError(error) && (error.conflict || error.notFound)) return false
      throw error
    }
  }

  async #store(record: LeaseRecord, before: Observed | undefined, signal: AbortSignal): Promise<KubernetesObject> {
    const { api, labels, annotations } = this.#options
    if (before === undefined) {
      const manifest = writeLease(this.#lease, record, {
        ...(labels && { labels }),
        ...(annotations && { annotations }),
      })
      return api.create(resourceTypes.Lease, manifest, { signal })
    }
    const { metadata, resourceVersion } = before
    const own = annotations && { annotations: { ...metadata.annotations, ...annotations } }
    const manifest = writeLease(this.#lease, record, { ...metadata, ...own, resourceVersion })
    return api.replace(resourceTypes.Lease, manifest, { signal })
  }

  /** Gives the Lease back, so that the next one need not wait. */
  async #release(): Promise<void> {
    const observed = this.#observed
    if (!this.leading || observed === undefined) {
      this.#leadsUntil = -Infinity
      return
    }
    this.#leadsUntil = -Infinity
    const record = { ...observed.record, holder: '', durationMs: 1_000 }
    const limit = new AbortController()
    const cancel = this.#options.clock.setTimer(() => limit.abort(new Error('too late')), this.#periodMs)
    try {
      await this.#store(record, observed, limit.signal)
    } catch {
      // Others wait until it has run out, as if this process had died.
    } finally {
      cancel()
    }
  }
}
