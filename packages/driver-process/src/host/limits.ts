/** How much and how long a driver outside of the process may take. Durations in milliseconds. */
export interface DriverLimits {
  /** From the start of the process to its declaration. */
  readonly describeMs: number
  /** Until a patch is there; the admission request may end it before. */
  readonly patchMs: number
  /** Until the proxy control plane listens. */
  readonly startMs: number
  /** Until a debug page is there. */
  readonly debugMs: number
  /** Between two questions whether the driver still answers. */
  readonly pingIntervalMs: number
  /** Until such a question counts as unanswered; two in a row end the process. */
  readonly pingMs: number
  /** Patches that are requested at a time. */
  readonly patchesAtOnce: number
  /** Patches without an answer, one after the other, that end the process. */
  readonly unansweredPatches: number
  /** Before the first start after a failure; twice as long after each further one. */
  readonly backoffMs: number
  /** Longest wait before a start. */
  readonly backoffMaxMs: number
  /** A process that lived for so long has failed for the first time. */
  readonly stableMs: number
}

export const defaultLimits: DriverLimits = {
  describeMs: 30_000,
  patchMs: 10_000,
  startMs: 60_000,
  debugMs: 10_000,
  pingIntervalMs: 5_000,
  pingMs: 10_000,
  patchesAtOnce: 64,
  unansweredPatches: 3,
  backoffMs: 500,
  backoffMaxMs: 60_000,
  stableMs: 60_000,
}
