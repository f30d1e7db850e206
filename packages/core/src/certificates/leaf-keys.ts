import { OsmError } from '@osm-ts/driver-api'

import type { CertificateErrorCode } from './errors.js'
import { EcKeyGenerator, type KeyPair, type KeySpec } from './key-pair.js'
import { RsaKeyPool } from './rsa-key-pool.js'

/** Makes the keys of leaves: P-256 at once, RSA from a pool that works ahead. */
export class LeafKeys {
  readonly #ecKeys = new EcKeyGenerator()
  #rsaKeys: RsaKeyPool | undefined
  #closed = false

  /** @throws OsmError with code `OSM_CERT_CLOSED`, or `OSM_CERT_REQUEST` for a size outside of 2048 to 4096 bits */
  async take(spec: KeySpec): Promise<KeyPair> {
    if (this.#closed)
      throw new OsmError<CertificateErrorCode>('OSM_CERT_CLOSED', 'no more keys are made: the process is shutting down')
    if (spec.algorithm === 'ECDSA') return this.#ecKeys.generate()
    // A pool of another size serves anyone who waits at it and is then forgotten with its last key.
    if (this.#rsaKeys?.bits !== spec.bits) this.#rsaKeys = new RsaKeyPool(spec.bits)
    return this.#rsaKeys.take()
  }

  /** Forgets prepared keys. Whatever is requested from now on is refused. */
  close(): void {
    this.#closed = true
    this.#rsaKeys?.close()
  }
}
