import type { ProxyKey } from '../identity/proxy-key.js'

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
export class ProxyCertificates {
  readonly #active = new Map<ProxyKey, 'unclaimed' | 'claimed'>()
  /** In order of release, so that the oldest can give way. */
  readonly #released = new Set<ProxyKey>()
  readonly #maxReleased: number

  constructor(maxReleased: number = MAX_RELEASED_PROXIES) {
    this.#maxReleased = maxReleased
  }

  state(proxy: ProxyKey): ProxyCertificateState | undefined {
    return this.#released.has(proxy) ? 'released' : this.#active.get(proxy)
  }

  issued(proxy: ProxyKey): void {
    if (this.state(proxy) === undefined) this.#active.set(proxy, 'unclaimed')
  }

  /** False if the proxy was released. */
  claim(proxy: ProxyKey): boolean {
    if (this.#released.has(proxy)) return false
    this.#active.set(proxy, 'claimed')
    return true
  }

  /** False if it was released before. */
  release(proxy: ProxyKey): boolean {
    if (this.#released.has(proxy)) return false
    this.#active.delete(proxy)
    this.#released.add(proxy)
    for (const oldest of this.#released) {
      if (this.#released.size <= this.#maxReleased) break
      this.#released.delete(oldest)
    }
    return true
  }
}
