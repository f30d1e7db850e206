import type { PartHash } from './policy/parts.js'

/**
 * State of a part in one proxy.
 *
 * `applied`: acknowledged. `rejected`: refused with a reason; the last good version stays in force. `unknown`: sent but not acknowledged yet, or part of a
 */
export type ApplyState = 'applied' | 'rejected' | 'unknown' | 'stale'

/** The state of one part. */
export interface PartReport {
  /** The part. */
  readonly hash: PartHash
  /** Id of the part, for people. */
  readonly id: string
  /** The state of the part. */
  readonly state: Exclude<ApplyState, 'stale'>
  /** The rejection message of the proxy, at most 4,096 characters, without key material. */
  readonly message?: string
  /** JSON pointer into the part, such as `/rules/routes/2`, if the message of the proxy identifies it. */
  readonly element?: string
}

/** Work of a driver for a proxy since its last report of the session. The host uses it for metrics and the debug page of pushes. */
export interface ApplyWork {
  /** Milliseconds that work for the proxy waited in the queue of the driver. */
  readonly queueMs: number
  /** Milliseconds to translate the policy into the proxy's configuration; 0 if all of it was cached. */
  readonly translateMs: number
  /** Milliseconds to encode the configuration. */
  readonly encodeMs: number
  /** Milliseconds from the end of encoding until the bytes have left the process. */
  readonly sendMs: number
  /** Bytes of configuration sent. */
  readonly bytes: number
}

/** Report of a driver to the host about a proxy. */
export interface ApplyReport {
  /** Session returned by {@link Proxies.authenticate}. */
  readonly session: string
  /** Revision of the policy step that the report is about. */
  readonly revision: number
  /** True once every part of that revision is applied. */
  readonly complete: boolean
  /**
   * From drivers with {@link Driver.followsEndpoints}: the proxy has acknowledged what it uses of all endpoints up to that generation. Absent if that is the same as in
   * the report before.
   */
  readonly endpoints?: number
  /** Only parts whose state changed since the last report of the session. */
  readonly parts: readonly PartReport[]
  /** Absent if the driver does not measure, or no work was done. */
  readonly work?: ApplyWork
}
