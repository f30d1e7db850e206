import type { ProxyPart } from '@osm-ts/driver-api'

import type { ProxyResources } from '../resources/types.js'
import type { ResourceTranslator } from './translator-port.js'

/** What is kept, and for how long. */
export interface LateReleaseOptions {
  readonly translator: ResourceTranslator
  readonly delayMs: number
  /** Proxies whose resources are kept; beyond that the one goes that left first. */
  readonly maxProxies: number
  /** Ends the keeping. */
  readonly signal: AbortSignal
}

interface Kept {
  readonly proxyId: ProxyPart['id']
  /** Milliseconds of the monotonic clock. */
  readonly until: number
}

/**
 * Keeps for a while what was made for proxies that have gone.
 *
 * Most of them come back at once, often all together: a connection reached its age, a network was away, another replica of the control plane has
 * ended. Translating everything anew at that moment would keep them waiting. What is kept is never more than what was in use when they left.
 */
export class LateRelease implements ResourceTranslator {
  readonly #options: LateReleaseOptions
  readonly #kept = new Map<ProxyResources, Kept>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: LateReleaseOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.#clear(), { once: true })
  }

  /** Proxies whose resources are kept though they have gone. */
  get size(): number {
    return this.#kept.size
  }

  translate(...args: Parameters<ResourceTranslator['translate']>): ProxyResources {
    return this.#options.translator.translate(...args)
  }

  release(proxyId: ProxyPart['id'], resources: ProxyResources): void {
    const { translator, delayMs, maxProxies, signal } = this.#options
    if (signal.aborted) {
      translator.release(proxyId, resources)
      return
    }
    this.#kept.set(resources, { proxyId, until: performance.now() + delayMs })
    const [oldest] = this.#kept
    if (this.#kept.size > maxProxies && oldest !== undefined) this.#drop(...oldest)
    this.#schedule()
  }

  /** One timer for all: whoever left first is let go of first. */
  #schedule(): void {
    const [oldest] = this.#kept.values()
    if (this.#timer !== undefined || oldest === undefined) return
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, oldest.until - performance.now()))
    this.#timer.unref()
  }

  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [resources, kept] of this.#kept) {
      if (kept.until > now) break
      this.#drop(resources, kept)
    }
    this.#schedule()
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [resources, kept] of this.#kept) this.#drop(resources, kept)
  }

  #drop(resources: ProxyResources, { proxyId }: Kept): void {
    this.#kept.delete(resources)
    // Does nothing if the proxy has come back and has newer ones.
    this.#options.translator.release(proxyId, resources)
  }
}
