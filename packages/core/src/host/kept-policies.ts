import type { ProxyKey } from '../identity/proxy-key.js'

/** What {@link KeptPolicies} needs. */
export interface KeptPoliciesOptions {
  /** Called for a proxy that has not returned. */
  readonly release: (proxy: ProxyKey) => void
  readonly setTimer: (callback: () => void, delayMs: number) => () => void
}

/** Proxies that lose their connection wait for 30 s at most before they return. */
const KEEP_MS = 60_000
/** As many proxies as a replica has. What is beyond is computed again. */
const MAX_KEPT = 10_000

/** Keeps the policies of proxies for a minute after their connections have ended, so that none is computed again when many reconnect. */
export class KeptPolicies {
  readonly #options: KeptPoliciesOptions
  /** What cancels the release of each. The longest without a connection comes first. */
  readonly #cancel = new Map<ProxyKey, () => void>()
  #isClosed = false

  constructor(options: KeptPoliciesOptions) {
    this.#options = options
  }

  /** The proxy has connected. */
  began(proxy: ProxyKey): void {
    this.#cancel.get(proxy)?.()
    this.#cancel.delete(proxy)
  }

  /** The connection of the proxy has ended. */
  ended(proxy: ProxyKey): void {
    this.began(proxy)
    if (this.#isClosed) return
    this.#cancel.set(
      proxy,
      this.#options.setTimer(() => this.#release(proxy), KEEP_MS),
    )
    const [longest] = this.#cancel.keys()
    if (longest !== undefined && this.#cancel.size > MAX_KEPT) this.#release(longest)
  }

  /** Waits for no proxy any more. */
  close(): void {
    this.#isClosed = true
    for (const cancel of this.#cancel.values()) cancel()
    this.#cancel.clear()
  }

  #release(proxy: ProxyKey): void {
    this.began(proxy)
    this.#options.release(proxy)
  }
}
