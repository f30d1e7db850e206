import type { DriverCertificates } from '@osm-ts/driver-api'
import type { WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { EncodedResource } from '../../resources/types.js'
import { rootCertificates } from './secrets.js'

/** The roots of service certificates, encoded once for all proxies. */
export class TrustRoots {
  readonly #turns: Pick<WorkTurns, 'run'>
  readonly #listeners = new Set<(roots: EncodedResource) => void>()
  #current: EncodedResource | undefined

  /** @param turns - another root concerns every proxy, and what each then does takes its turn there */
  constructor(turns: Pick<WorkTurns, 'run'>) {
    this.#turns = turns
  }

  /** Follows the host until the signal aborts. */
  async follow(certificates: Pick<DriverCertificates, 'trustBundles'>, signal: AbortSignal): Promise<void> {
    for await (const bundle of certificates.trustBundles(signal)) {
      const roots = rootCertificates(bundle)
      this.#current = roots
      await Promise.all([...this.#listeners].map((listener) => this.#turns.run(() => this.#tell(listener, roots))))
    }
  }

  #tell(listener: (roots: EncodedResource) => void, roots: EncodedResource): void {
    if (this.#listeners.has(listener)) listener(roots)
  }

  /** Tells the listener the roots in force, if there are any yet, and each later ones until the signal aborts. */
  listen(listener: (roots: EncodedResource) => void, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
    if (this.#current !== undefined) listener(this.#current)
  }
}
