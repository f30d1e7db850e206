import { isDeepStrictEqual } from 'node:util'

import type { LeafRequest } from './certificate-provider.js'
import type { KeyPair } from './key-pair.js'

/** A request with the key that it is for. */
export interface WaitingRequest {
  readonly request: LeafRequest
  readonly pair: KeyPair
}

/** More than anyone approves by hand. What does not fit is asked for again with another key. */
const MAX_WAITING = 1_000

/** Requests that wait for an approval. Each is repeated as it was: another key or lifetime would be another request to approve. */
export class WaitingRequests {
  readonly #waiting = new Map<string, WaitingRequest>()

  /** Takes out the request that waits for these names and this kind of key, if there is one. */
  take(wanted: Omit<LeafRequest, 'validityMs'>): WaitingRequest | undefined {
    const found = this.#waiting.get(keyOf(wanted))
    if (found === undefined) return undefined
    this.#waiting.delete(keyOf(wanted))
    const { validityMs: _validityMs, ...asked } = found.request
    return isDeepStrictEqual(asked, wanted) ? found : undefined
  }

  keep(waiting: WaitingRequest): void {
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(keyOf(waiting.request), waiting)
  }

  clear(): void {
    this.#waiting.clear()
  }
}

function keyOf({ kind, commonName }: Pick<LeafRequest, 'kind' | 'commonName'>): string {
  return `${kind}/${commonName}`
}
