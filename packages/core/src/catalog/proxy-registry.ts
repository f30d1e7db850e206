import type { ProxyRef, ProxyUUID } from '@osm-ts/driver-api'

import { parseProxyCommonName, type TrustDomain } from '../identity/index.js'

/** A proxy that is connected: who it is, and which of its connections is meant. */
export type ConnectedProxy = Pick<ProxyRef, 'commonName' | 'session'>

/**
 * Which proxies were issued a certificate, and which of them are connected.
 *
 * A certificate is unclaimed from when it is issued until a proxy connects with it.
 */
export class ProxyRegistry {
  readonly #trustDomain: TrustDomain
  readonly #expected = new Map<ProxyUUID, string>()
  /** Session by proxy. */
  readonly #connected = new Map<ProxyUUID, string>()

  constructor(trustDomain: TrustDomain) {
    this.#trustDomain = trustDomain
  }

  /** Notes that a certificate was issued for a proxy. @throws OsmError with code `OSM_IDENTITY_PROXY_NAME` */
  expect(commonName: string): void {
    this.#expected.set(parseProxyCommonName(commonName, this.#trustDomain).uuid, commonName)
  }

  /** Notes that a proxy has connected; a newer session takes the place of an older one. @throws OsmError with code `OSM_IDENTITY_PROXY_NAME` */
  register({ commonName, session }: ConnectedProxy): void {
    this.#connected.set(parseProxyCommonName(commonName, this.#trustDomain).uuid, session)
  }

  /** Notes that a session has ended. A session that was replaced before changes nothing. */
  unregister({ commonName, session }: ConnectedProxy): void {
    const { uuid } = parseProxyCommonName(commonName, this.#trustDomain)
    if (this.#connected.get(uuid) === session) this.#connected.delete(uuid)
  }

  /** Forgets a proxy whose workload is gone. */
  forget(uuid: ProxyUUID): void {
    this.#expected.delete(uuid)
    this.#connected.delete(uuid)
  }

  /** Proxies that were issued a certificate and are connected, with their names; sorted by uuid. */
  claimed(): readonly { readonly uuid: ProxyUUID; readonly commonName: string }[] {
    return [...this.#expected]
      .filter(([uuid]) => this.#connected.has(uuid))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([uuid, commonName]) => ({ uuid, commonName }))
  }
}
