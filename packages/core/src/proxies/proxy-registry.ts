import type { ProxyRef } from '@osm-ts/driver-api'

import { proxyKeyOfRef, type ProxyKey } from '../identity/proxy-key.js'

/**
 * Where a proxy certificate stands: issued for a proxy that has not connected yet, used by one that has, or released for good.
 */
export type ProxyCertificateState = 'unclaimed' | 'claimed' | 'released'

/** What is known of one proxy. */
export interface ProxyRecord {
  /** Undefined for a proxy that is connected and was never expected. */
  readonly certificate: Exclude<ProxyCertificateState, 'released'> | undefined
  /** Its live session; undefined while it is not connected to this process. */
  readonly session: ProxyRef | undefined
}

/** Released proxies that are remembered. Beyond that, their missing workload is what keeps them out. */
const MAX_RELEASED_PROXIES = 50_000

/**
 * The one record of each proxy: where its certificate stands, and its session. The certificate manager, the host of drivers and the mesh catalog share it.
 *
 * The certificate of a proxy may come from another process (the injector issues, a controller is connected to). Its workload is the first sign of it, and a
 * proxy that was never seen before can be claimed: the root that signed its certificate proves that it is genuine. A released proxy never returns.
 */
export class ProxyRegistry {
  readonly #records = new Map<ProxyKey, ProxyRecord>()
  readonly #bySession = new Map<string, ProxyRef>()
  /** In order of release, so that the oldest can give way. */
  readonly #released = new Set<ProxyKey>()
  readonly #maxReleased: number

  constructor(maxReleased: number = MAX_RELEASED_PROXIES) {
    this.#maxReleased = maxReleased
  }

  /** What is known of a proxy; undefined if nothing is, or it was released. */
  get(proxy: ProxyKey): ProxyRecord | undefined {
    return this.#records.get(proxy)
  }

  state(proxy: ProxyKey): ProxyCertificateState | undefined {
    return this.#released.has(proxy) ? 'released' : this.#records.get(proxy)?.certificate
  }

  /** Notes that a certificate was issued for a proxy. */
  expect(proxy: ProxyKey): void {
    if (this.state(proxy) === undefined) this.#set(proxy, { certificate: 'unclaimed' })
  }

  /** Notes that a proxy has shown its certificate. False if the proxy was released. */
  claim(proxy: ProxyKey): boolean {
    if (this.#released.has(proxy)) return false
    this.#set(proxy, { certificate: 'claimed' })
    return true
  }

  /** Ends the life of a proxy. False if it was released before. */
  release(proxy: ProxyKey): boolean {
    if (this.#released.has(proxy)) return false
    this.forget(proxy)
    this.#released.add(proxy)
    for (const oldest of this.#released) {
      if (this.#released.size <= this.#maxReleased) break
      this.#released.delete(oldest)
    }
    return true
  }

  /** Forgets the certificate of a proxy whose workload is gone from here. Unlike one that was released, the proxy may return. */
  forget(proxy: ProxyKey): void {
    this.#set(proxy, { certificate: undefined })
  }

  /** Notes that a proxy has connected; a newer session takes the place of an older one. */
  register(proxy: ProxyRef): void {
    const key = proxyKeyOfRef(proxy)
    const older = this.#records.get(key)?.session
    if (older !== undefined) this.#bySession.delete(older.session)
    this.#bySession.set(proxy.session, proxy)
    this.#set(key, { session: proxy })
  }

  /** Notes that a session has ended. A session that was replaced before changes nothing. */
  unregister({ session }: Pick<ProxyRef, 'session'>): void {
    const proxy = this.#bySession.get(session)
    if (proxy === undefined) return
    this.#bySession.delete(session)
    this.#set(proxyKeyOfRef(proxy), { session: undefined })
  }

  /** The proxy of a live session. */
  find(session: string): ProxyRef | undefined {
    return this.#bySession.get(session)
  }

  /** Proxies that are connected to this process. */
  connected(): readonly ProxyRef[] {
    return [...this.#bySession.values()]
  }

  /** How many proxies are connected to this process. */
  get size(): number {
    return this.#bySession.size
  }

  #set(proxy: ProxyKey, change: Partial<ProxyRecord>): void {
    const record = { certificate: undefined, session: undefined, ...this.#records.get(proxy), ...change }
    if (record.certificate === undefined && record.session === undefined) this.#records.delete(proxy)
    else this.#records.set(proxy, record)
  }
}
