import type { ProxyStatus } from '@osm-ts/core'
import { deferred } from '@osm-ts/driver-api/toolkit'

/** When a mesh came to rest for the first time, in milliseconds since 1970. */
export interface Converged {
  /** Until when, as far as was seen, some sidecar was not connected yet: what is measured from here is an upper bound. */
  readonly connectedAt: number
  /** When every sidecar had applied its whole configuration. */
  readonly appliedAt: number
}

/** Measures how long the proxies took from the last connection to the last configuration applied. */
export class Convergence {
  readonly #settled = deferred<Converged>()
  #lastApart: number | undefined
  #done = false

  /** Takes in one look at the proxies. */
  look(statuses: readonly ProxyStatus[], expected: number, now: number): void {
    if (this.#done) return
    if (expected === 0 || statuses.length < expected || !statuses.every(({ connected }) => connected)) {
      this.#lastApart = now
      return
    }
    if (!statuses.every(hasApplied)) return
    this.#done = true
    this.#settled.resolve({ connectedAt: this.#lastApart ?? now, appliedAt: now })
  }

  /** Resolves when every proxy had applied its configuration once. */
  settled(): Promise<Converged> {
    return this.#settled.promise
  }
}

/** True if the proxy has what it should have. */
export function hasApplied({ state, wantedVersion, appliedVersion }: ProxyStatus): boolean {
  return state === 'applied' && wantedVersion === appliedVersion
}
