import type { ProxyStatus } from '@osm-ts/core'

import { deferred } from '../deferred.js'

/** When a mesh came to rest for the first time, in milliseconds since 1970. */
export interface Converged {
  /** When every sidecar was connected. */
  readonly connectedAt: number
  /** When every sidecar had applied its whole configuration. */
  readonly appliedAt: number
}

/** Measures how long the proxies took from the last connection to the last configuration applied. */
export class Convergence {
  readonly #settled = deferred<Converged>()
  #connectedAt: number | undefined
  #done = false

  /** Takes in one look at the proxies. */
  look(statuses: readonly ProxyStatus[], expected: number, now: number): void {
    if (this.#done || expected === 0 || statuses.length < expected) return
    if (!statuses.every(({ connected }) => connected)) return
    this.#connectedAt ??= now
    if (
      !statuses.every(
        ({ state, wantedVersion, appliedVersion }) => state === 'applied' && wantedVersion === appliedVersion,
      )
    )
      return
    this.#done = true
    this.#settled.resolve({ connectedAt: this.#connectedAt, appliedAt: now })
  }

  /** Resolves when every proxy had applied its configuration once. */
  settled(): Promise<Converged> {
    return this.#settled.promise
  }
}
