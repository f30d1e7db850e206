import type { CloudInstance } from './cloud.js'
import type { ResolveFailure } from './resolve-failure.js'

/** What is known of a selector. */
export interface Outcome {
  /** Of the last time it was resolved; undefined if it never was. */
  readonly instances: readonly CloudInstance[] | undefined
  /** Why the last attempt failed. */
  readonly failure: ResolveFailure | undefined
  /** When it was resolved last, in milliseconds since 1970; undefined if it never was. */
  readonly resolvedAt: number | undefined
  /** Calls of the last attempt. */
  readonly calls: number
}
