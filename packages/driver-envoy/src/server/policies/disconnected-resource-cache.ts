import type { ProxyPart } from '@osm-ts/driver-api/policy'

import type { ProxyResources } from '../../resources/types.js'
import type { ResourceTranslator } from './translator-port.js'

/** What is kept, and for how long. */
export interface DisconnectedResourceCacheOptions {
  readonly translator: ResourceTranslator
  readonly delayMs: number
  /** Proxies whose resources are kept; beyond that the one goes that left first. */
  readonly maxProxies: number
  /** Ends the keeping. */
  readonly signal: AbortSignal
}

interface Kept {
  readonly resources: ProxyResources
  /** Milliseconds of the monotonic clock. */
  readonly until: number
}

/**
 * Keeps for a while what was made for proxies that have gone.
 *
 * Most of them return at once, often all together: a connection reached its age, a network was away, another replica of the control plane has
 * ended. Translating everything again at that moment would keep them waiting. What is kept is never more than what was in use when they left, and none of it is
 * kept for a proxy that has returned.
 */
export class DisconnectedResourceCache implements ResourceTranslator {
  readonly #options: DisconnectedResourceCacheOptions
  /** In the order in which they left. */
  readonly #kept = new Map<ProxyPart['id'], Kept>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: DisconnectedResourceCacheOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.#clear(), { once: true })
  }

  /** Proxies whose resources are kept though they have gone. */
  get size(): number {
    return this.#kept.size
  }

  translate(...args: Parameters<ResourceTranslator['translate']>): ProxyResources {
    const resources = this.#options.translator.translate(...args)
    // What is new has taken over whatever it needs of what was kept.
    this.#kept.delete(args[0].id)
    return resources
  }

  renew(...args: Parameters<ResourceTranslator['renew']>): ReturnType<ResourceTranslator['renew']> {
    return this.#options.translator.renew(...args)
  }

  release(proxyId: ProxyPart['id'], resources: ProxyResources): void {
    const { translator, delayMs, maxProxies, signal } = this.#options
    if (signal.aborted) {
      translator.release(proxyId, resources)
      return
    }
    // Two sessions of a proxy may end in another order than they began.
    this.#drop(proxyId)
    this.#kept.set(proxyId, { resources, until: performance.now() + delayMs })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > maxProxies && oldest !== undefined) this.#drop(oldest)
    this.#schedule()
  }

  /** One timer for all: the proxy that left first is released first. */
  #schedule(): void {
    const [oldest] = this.#kept.values()
    if (this.#timer !== undefined || oldest === undefined) return
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, oldest.until - performance.now()))
    this.#timer.unref()
  }

  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [proxyId, kept] of this.#kept) {
      if (kept.until > now) break
      this.#drop(proxyId)
    }
    this.#schedule()
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const proxyId of this.#kept.keys()) this.#drop(proxyId)
  }

  #drop(proxyId: ProxyPart['id']): void {
    const kept = this.#kept.get(proxyId)
    if (kept === undefined) return
    this.#kept.delete(proxyId)
    // Does nothing if the proxy has newer ones.
    this.#options.translator.release(proxyId, kept.resources)
  }
}
