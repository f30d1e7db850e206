import type { Credential, DriverCertificates, ProxyRef } from '@osm-ts/driver-api'

import { limits } from '../limits.js'

/** What an {@link IdentityFollower} is made with. */
export interface IdentityFollowerOptions {
  readonly proxy: ProxyRef
  readonly certificates: Pick<DriverCertificates, 'identity'>
  readonly onCredential: (credential: Credential) => void
  /** Has the proxy come back by another handshake. */
  readonly reconnect: () => void
  /** Ends all. */
  readonly signal: AbortSignal
}

/**
 * Follows the service certificate of the proxy on a stream, from its first request on: only that tells whether the sidecar can use its own key.
 *
 * A certificate for that key is refused where the key was replaced since the handshake. Another handshake then proves the new one. Envoy remembers a certificate that
 * it has refused and accepts the same bytes afterwards, without using them: it is never sent one twice.
 */
export class IdentityFollower {
  readonly #options: IdentityFollowerOptions
  readonly #startedAt = Date.now()
  readonly #begin: Promise<boolean>
  #resolveBegin: (hasKey: boolean) => void = () => undefined
  #usesOwnKey = false
  #renewal = new AbortController()
  #renewing: NodeJS.Timeout | undefined
  #renewedAt = 0
  #reconnecting: NodeJS.Timeout | undefined

  constructor(options: IdentityFollowerOptions) {
    this.#options = options
    this.#begin = new Promise((resolve) => (this.#resolveBegin = resolve))
    options.signal.addEventListener('abort', () => this.#close(), { once: true })
  }

  /**
   * The first request has come.
   *
   * @param hasKey - whether the sidecar says where it has the key of its proxy certificate
   */
  begin(hasKey: boolean): void {
    this.#resolveBegin(hasKey)
  }

  /** The proxy has refused something for the sake of its certificate. */
  refused(): void {
    if (!this.#usesOwnKey || this.#reconnecting !== undefined) return
    const delayMs = Math.max(0, this.#startedAt + limits.refusedCertificateMs - Date.now())
    this.#reconnecting = setTimeout(this.#options.reconnect, delayMs)
    // The next handshake may still be made with the former key.
    this.#renewal.abort()
  }

  /** The proxy has refused a response, perhaps for its certificate: it is issued again. */
  doubted(): void {
    if (!this.#usesOwnKey || this.#renewing !== undefined) return
    // A proxy that refuses everything must not have certificates signed without an end.
    const delayMs = Math.max(0, this.#renewedAt + limits.refusedCertificateMs - Date.now())
    this.#renewing = setTimeout(() => {
      this.#renewing = undefined
      this.#renewedAt = Date.now()
      this.#renewal.abort()
    }, delayMs)
  }

  /** Resolves when the signal aborts, or there are no more certificates. */
  async run(): Promise<void> {
    const { proxy, certificates, onCredential, signal } = this.#options
    const hasKey = await this.#begin
    while (!signal.aborted) {
      // Ends with the signal as well, see #close.
      const renewal = new AbortController()
      this.#renewal = renewal
      const until = renewal.signal
      for await (const credential of certificates.identity(proxy, until, hasKey ? { key: 'proxy' } : {})) {
        if (until.aborted) break
        this.#usesOwnKey = credential.key === 'proxy'
        // Nothing for the key of this handshake is of use.
        if (this.#reconnecting === undefined) onCredential(credential)
      }
      if (!renewal.signal.aborted) return
    }
  }

  #close(): void {
    this.#renewal.abort()
    clearTimeout(this.#reconnecting)
    clearTimeout(this.#renewing)
    this.#resolveBegin(false)
  }
}
