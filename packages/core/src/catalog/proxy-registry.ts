import type { ProxyRef } from '@osm-ts/driver-api'

import { parseProxyCommonName, proxyKey, type ProxyKey, type TrustDomain } from '../identity/index.js'

/** A proxy that is connected: who it is, and which of its connections is meant. */
export type ConnectedProxy = Pick<ProxyRef, 'commonName' | 'session'>

/**
 * Which proxies were issued a certificate, and which of them are connected.
 *
 * A certificate is unclaimed from when it is issued until a proxy connects with it.
 */
export class ProxyRegistry {
  readonly #trustDomain: TrustDomain
  readonly #expected = new Map<ProxyKey, string>()
  /** Session by proxy. */
  readonly #connected = new Map<ProxyKey, string>()

  constructor(trustDomain: TrustDomain) {
    this.#trustDomain = trustDomain
  }

  /** Notes that a certificate was issued for a proxy. @throws OsmError with code `OSM_IDENTITY_PROXY_NAME` */
  expect(commonName: string): void {
    this.#expected.set(this.#keyOf(commonName), commonName)
  }

  /** Notes that a proxy has connected; a newer session takes the place of an older one. @throws OsmError with code `OSM_IDENTITY_PROXY_NAME` */
  register({ commonName, session }: ConnectedProxy): void {
    this.#connected.set(this.#keyOf(commonName), session)
  }

  /** Notes that a session has ended. A session that was replaced before changes nothing. */
  unregister({ commonName, session }: ConnectedProxy): void {
    const proxy = this.#keyOf(commonName)
    if (this.#connected.get(proxy) === session) this.#connected.delete(proxy)
  }

  /** Forgets a proxy whose workload is gone. */
  forget(proxy: ProxyKey): void {
    this.#expected.delete(proxy)
    this.#connected.delete(proxy)
  }

  /** Proxies that were issued a certificate and are connected, with their names; sorted by key. */
  claimed(): readonly { readonly proxy: ProxyKey; readonly commonName: string }[] {
    return [...this.#expected]
      .filter(([proxy]) => this.#connected.has(proxy))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([proxy, commonName]) => ({ proxy, commonName }))
  }

  #keyOf(commonName: string): ProxyKey {
    return proxyKey(parseProxyCommonName(commonName, this.#trustDomain))
  }
}
