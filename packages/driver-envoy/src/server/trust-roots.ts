import type { DriverCertificates } from '@osm-ts/driver-api'

import type { EncodedResource } from '../resources/types.js'
import { rootCertificates } from './secrets.js'

/** The roots of service certificates, encoded once for all proxies. */
export class TrustRoots {
  readonly #listeners = new Set<(roots: EncodedResource) => void>()
  #current: EncodedResource | undefined

  /** Follows the host until the signal aborts. */
  async follow(certificates: Pick<DriverCertificates, 'trustBundles'>, signal: AbortSignal): Promise<void> {
    for await (const bundle of certificates.trustBundles(signal)) {
      this.#current = rootCertificates(bundle)
      for (const listener of this.#listeners) listener(this.#current)
    }
  }

  /** Tells the listener the roots in force, if there are any yet, and each later ones until the signal aborts. */
  listen(listener: (roots: EncodedResource) => void, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
    if (this.#current !== undefined) listener(this.#current)
  }
}
