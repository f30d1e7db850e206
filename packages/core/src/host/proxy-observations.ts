import type { ProxyCondition, ProxyObservation, RefusedPeer } from '@osm-ts/driver-api'

import type { TrustDomain } from '../identity/mesh-domains.js'
import { tryParseProxyCommonName } from '../identity/proxy-identity.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import type { RefusedPeerStatus, StatusCondition } from './status.js'

/** How long it is told that somebody was refused, in milliseconds. Sidecars try again every few seconds. */
const REFUSAL_MS = 5 * 60_000
/** Peers that are remembered; anybody who reaches the port can be one. The one that has been away longest is forgotten first. */
const MAX_REFUSALS = 256

interface Since {
  readonly condition: ProxyCondition
  readonly since: number
}

interface Refusals {
  readonly peer: RefusedPeer
  readonly since: number
  last: number
  times: number
}

/** What drivers have said of their proxies, and whom they have refused. */
export class ProxyObservations {
  readonly #now: () => number
  readonly #trustDomain: TrustDomain
  readonly #bySession = new Map<string, readonly Since[]>()
  /** The one that was refused last is the last one. */
  readonly #refused = new Map<string, Refusals>()

  /** @param now - milliseconds since 1970 */
  constructor(now: () => number, trustDomain: TrustDomain) {
    this.#now = now
    this.#trustDomain = trustDomain
  }

  /** @param isLive - whether a session has not ended yet */
  take(observation: ProxyObservation, isLive: (session: string) => boolean): void {
    if ('refused' in observation) {
      this.#refuse(observation.refused)
      return
    }
    const { session, conditions } = observation
    if (!isLive(session)) return
    const before = this.#bySession.get(session) ?? []
    const now = this.#now()
    this.#bySession.set(
      session,
      conditions.map((condition) => ({
        condition,
        since: before.find((known) => known.condition.code === condition.code)?.since ?? now,
      })),
    )
  }

  /** The session has ended. */
  forget(session: string): void {
    this.#bySession.delete(session)
  }

  /** What is wrong with the proxy of a session. */
  ofSession(session: string): readonly StatusCondition[] {
    return (this.#bySession.get(session) ?? []).map(({ condition: { code, message }, since }) => ({
      code,
      message,
      since: new Date(since).toISOString(),
    }))
  }

  /** Who was refused recently, the latest last. */
  refused(): readonly RefusedPeerStatus[] {
    const oldest = this.#now() - REFUSAL_MS
    for (const [key, { last }] of this.#refused) if (last < oldest) this.#refused.delete(key)
    return [...this.#refused.values()].map(
      ({ peer: { address, commonName = '', code, message }, since, last, times }) => ({
        address,
        ...this.#proven(commonName),
        code,
        message,
        since: new Date(since).toISOString(),
        last: new Date(last).toISOString(),
        times,
      }),
    )
  }

  #proven(commonName: string): { readonly proxy?: ProxyKey } {
    const identity = tryParseProxyCommonName(commonName, this.#trustDomain)
    return identity === undefined ? {} : { proxy: proxyKey(identity) }
  }

  #refuse(peer: RefusedPeer): void {
    const key = [peer.address, peer.commonName ?? '', peer.code, peer.message].join('\n')
    const now = this.#now()
    const known = this.#refused.get(key) ?? { peer, since: now, last: now, times: 0 }
    known.last = now
    known.times += 1
    this.#refused.delete(key)
    this.#refused.set(key, known)
    const [first] = this.#refused.keys()
    if (this.#refused.size > MAX_REFUSALS && first !== undefined) this.#refused.delete(first)
  }
}

/** Where a proxy is. */
export interface ProxyPlace {
  readonly proxy: ProxyKey
  readonly addresses: readonly string[]
}

/**
 * Whom each refusal is about: the proxy that the peer has proven to be, else the only one at its address. Those of no one are under undefined.
 */
export function refusalsByProxy(
  refused: readonly RefusedPeerStatus[],
  places: readonly ProxyPlace[],
): ReadonlyMap<ProxyKey | undefined, readonly RefusedPeerStatus[]> {
  const proxies = new Set(places.map(({ proxy }) => proxy))
  const byAddress = groupByAddress(places)
  const found = new Map<ProxyKey | undefined, RefusedPeerStatus[]>()
  for (const refusal of refused) {
    const { proxy, address } = refusal
    const [first, another] = proxy === undefined ? (byAddress.get(address) ?? []) : []
    const about = proxy !== undefined && proxies.has(proxy) ? proxy : another === undefined ? first : undefined
    found.set(about, [...(found.get(about) ?? []), refusal])
  }
  return found
}

function groupByAddress(places: readonly ProxyPlace[]): ReadonlyMap<string, readonly ProxyKey[]> {
  const found = new Map<string, ProxyKey[]>()
  for (const { proxy, addresses } of places)
    for (const address of new Set(addresses)) {
      const there = found.get(address)
      if (there === undefined) found.set(address, [proxy])
      else there.push(proxy)
    }
  return found
}
