import type { ProxyUUID } from '@osm-ts/driver-api'

/**
 * Where a proxy certificate stands: issued for a proxy that has not connected yet, in use, or given back for good.
 */
export type ProxyCertificateState = 'unclaimed' | 'claimed' | 'released'

/** Released proxies that are remembered. Beyond that, their missing workload is what keeps them out. */
const MAX_RELEASED_PROXIES = 50_000

/**
 * States of proxies.
 *
 * The certificate of a proxy may come from another process (the injector issues, a controller is connected to), so a
 * proxy that was never seen before can be claimed: that its certificate is genuine was proven by the root that signed
 * it. What must never happen is that a released proxy comes back.
 */
export class ProxyLedger {
  readonly #active = new Map<ProxyUUID, 'unclaimed' | 'claimed'>()
  /** In order of release, so that the oldest can give way. */
  readonly #released = new Set<ProxyUUID>()
  readonly #maxReleased: number

  constructor(maxReleased: number = MAX_RELEASED_PROXIES) {
    this.#maxReleased = maxReleased
  }

  state(uuid: ProxyUUID): ProxyCertificateState | undefined {
    return this.#released.has(uuid) ? 'released' : this.#active.get(uuid)
  }

  issued(uuid: ProxyUUID): void {
    if (this.state(uuid) === undefined) this.#active.set(uuid, 'unclaimed')
  }

  /** False if the proxy was released. */
  claim(uuid: ProxyUUID): boolean {
    if (this.#released.has(uuid)) return false
    this.#active.set(uuid, 'claimed')
    return true
  }

  /** False if it was released before. */
  release(uuid: ProxyUUID): boolean {
    if (this.#released.has(uuid)) return false
    this.#active.delete(uuid)
    this.#released.add(uuid)
    for (const oldest of this.#released) {
      if (this.#released.size <= this.#maxReleased) break
      this.#released.delete(oldest)
    }
    return true
  }
}
