import type { Credential, DriverCertificates, ProxyRef } from '@osm-ts/driver-api'

import { Changes } from './changes.js'

/** How a worker asks for its configuration. */
export interface Asking {
  /** Hash of the certificate that its connection has proven. */
  readonly certificate: string
  /** It can use the key of that certificate. */
  readonly hasKey: boolean
}

/**
 * The service certificate of a worker, in one session. Its first poll decides which one: for the key that the connection of that poll has proven, or one that
 * comes with a key. Other requests decide nothing, because Pipy itself fetches scripts with the certificate that it was started with.
 */
export class WorkerIdentity {
  readonly #proxy: ProxyRef
  readonly #certificates: Pick<DriverCertificates, 'identity'>
  readonly #accepted: string
  readonly #decisions = new Changes()
  #hasKey: boolean | undefined

  /** @param accepted - hash of the certificate by which the host knows the session: what it signs is for the key of that one */
  constructor(proxy: ProxyRef, certificates: Pick<DriverCertificates, 'identity'>, accepted: string) {
    this.#proxy = proxy
    this.#certificates = certificates
    this.#accepted = accepted
  }

  /** @returns false if a worker that asks so needs a session of its own */
  suits({ certificate, hasKey }: Asking): boolean {
    if (hasKey && certificate !== this.#accepted) return false
    if (this.#hasKey === undefined) {
      this.#hasKey = hasKey
      this.#decisions.announce()
    }
    return this.#hasKey === hasKey
  }

  /** Yields the certificate, then each replacement, until the signal aborts. */
  async *follow(signal: AbortSignal): AsyncGenerator<Credential, void, undefined> {
    while (this.#hasKey === undefined) {
      if (signal.aborted) return
      await this.#decisions.next(signal)
    }
    yield* this.#certificates.identity(this.#proxy, signal, this.#hasKey ? { key: 'proxy' } : {})
  }
}
