/** What requests may be under way. */
export interface RequestLimits {
  readonly requests: number
  /** Those with a large body, which wait for each other. */
  readonly large: number
}

/** Limits of a {@link RequestLimiter}. */
export interface RequestLimiterOptions {
  readonly inAll: RequestLimits
  /** Of one address. */
  readonly perPeer: RequestLimits
}

/** A request that is under way; calling it says that it has ended. */
export type Release = () => void

interface Load {
  requests: number
  large: number
}

/** Counts requests that are under way, in all and by the address that they come from, and refuses what is beyond its limits. */
export class RequestLimiter {
  readonly #options: RequestLimiterOptions
  readonly #all: Load = { requests: 0, large: 0 }
  readonly #peers = new Map<string, Load>()

  constructor(options: RequestLimiterOptions) {
    this.#options = options
  }

  /** Takes a request, or says which limit it is beyond. */
  take(peer: string, isLarge: boolean): Release | 'all' | 'peer' {
    const { inAll, perPeer } = this.#options
    const large = isLarge ? 1 : 0
    const load = this.#peers.get(peer) ?? { requests: 0, large: 0 }
    if (isBeyond(load, large, perPeer)) return 'peer'
    if (isBeyond(this.#all, large, inAll)) return 'all'
    this.#peers.set(peer, load)
    for (const it of [this.#all, load]) {
      it.requests += 1
      it.large += large
    }
    let ended = false
    return () => {
      if (ended) return
      ended = true
      for (const it of [this.#all, load]) {
        it.requests -= 1
        it.large -= large
      }
      if (load.requests === 0) this.#peers.delete(peer)
    }
  }
}

function isBeyond(load: Load, large: number, limits: RequestLimits): boolean {
  return load.requests + 1 > limits.requests || load.large + large > limits.large
}
