import type { ObjectOrigin, ObjectRef } from '../../problem.js'

/** A rule that decides about traffic over the edge of the mesh, and where it is defined. */
export interface BoundaryRule {
  readonly object: ObjectRef
  /** Path inside the object. */
  readonly field: string
  readonly origin?: ObjectOrigin
}

/** The answer about traffic that leaves the mesh or comes from outside. */
export interface BoundaryDecision {
  /** True: it is allowed, whichever workload it reaches. */
  readonly allowed: boolean
  /** Why; for a denial what comes closest to allowing it. */
  readonly reasons: readonly string[]
  /** What allows it; empty where no object is needed for that. */
  readonly by: readonly BoundaryRule[]
}

/** True if the host is the one named, or below it where the name starts with `*.`. Both are in lower case. */
export function isHostOf(named: string, host: string): boolean {
  if (named === host) return true
  return named.startsWith('*.') && host.endsWith(named.slice(1)) && host.length > named.length - 1
}
