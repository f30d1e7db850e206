import type { PartHash } from './policy/parts.js'

/**
 * What became of a part in one proxy.
 *
 * `applied`: acknowledged. `rejected`: refused with a reason, the last good version stays. `unknown`: sent, not acknowledged yet, or part of a
 * response whose other half was refused. `stale`: the host's own word for a proxy that it has not heard from; drivers never report it.
 */
export type ApplyState = 'applied' | 'rejected' | 'unknown' | 'stale'

/** The state of one part. */
export interface PartReport {
  /** The part. */
  readonly hash: PartHash
  /** Id of the part, for people. */
  readonly id: string
  /** What became of it. */
  readonly state: Exclude<ApplyState, 'stale'>
  /** The proxy's own words for a rejection, at most 4,096 characters, without key material. */
  readonly message?: string
  /** JSON pointer into the part, where the proxy's words allow to tell, such as `/rules/routes/2`. */
  readonly element?: string
}

/** What a driver has done for a proxy since its last report of the session. The host makes metrics and the debug page of pushes of it. */
export interface ApplyWork {
  /** Milliseconds that work for the proxy has waited for its turn in the driver. */
  readonly queueMs: number
  /** Milliseconds of making the proxy's configuration from its policy; 0 where all of it was there already. */
  readonly translateMs: number
  /** Milliseconds of putting together the bytes that are sent. */
  readonly encodeMs: number
  /** Milliseconds from the bytes being ready until they have left the process. */
  readonly sendMs: number
  /** Bytes of configuration that were sent. */
  readonly bytes: number
}

/** What a driver tells the host about a proxy. */
export interface ApplyReport {
  /** Session that {@link Proxies.authenticate} gave. */
  readonly session: string
  /** Revision of the policy step that the report is about. */
  readonly revision: number
  /** True once every part of that revision is applied. */
  readonly complete: boolean
  /** Only parts whose state changed since the last report of the session. */
  readonly parts: readonly PartReport[]
  /** Left out by a driver that does not measure, and where nothing was done. */
  readonly work?: ApplyWork
}
