import { createSecureContext, DEFAULT_MIN_VERSION } from 'node:tls'

import { experimental, type ServerCredentials } from '@grpc/grpc-js'
import { type Credential, OsmError, type TrustBundle } from '@osm-ts/driver-api'

type Provider = experimental.CertificateProvider

/** What a listener is verified with, and shows of itself. */
export interface ServerTrust {
  readonly credential: Credential
  readonly clientRoots: TrustBundle
}

/** Credentials whose certificate and roots can be replaced while the server listens. */
export interface RotatingServerCredentials {
  readonly credentials: ServerCredentials
  /**
   * Holds for handshakes from now on; connections that are open stay as they are.
   *
   * @throws Error if key, certificate and roots cannot be used together; then nothing changes
   */
  replace(trust: ServerTrust): void
}

/**
 * Credentials that require a certificate of exactly the given roots from every client. Until {@link RotatingServerCredentials.replace} was called
 * once, connections are closed before their handshake.
 *
 * grpc-js 1.14.7 declares the arguments of `createCertificateProviderServerCredentials` in the order (roots, identity) and takes them in the order
 * (identity, roots). Both have one type, so only a handshake can tell; the version is pinned and the test of this file makes one.
 *
 * @throws OsmError with code `OSM_DRIVER_START` if the process was told to accept TLS below 1.2: grpc-js has no option of its own for that
 */
export function createRotatingServerCredentials(): RotatingServerCredentials {
  if (DEFAULT_MIN_VERSION !== 'TLSv1.2' && DEFAULT_MIN_VERSION !== 'TLSv1.3')
    throw new OsmError(
      'OSM_DRIVER_START',
      `Node was started with ${DEFAULT_MIN_VERSION} as its lowest TLS version; 1.2 is the least`,
    )
  const identity = new IdentityProvider()
  const roots = new RootsProvider()
  const credentials = experimental.createCertificateProviderServerCredentials(identity, roots, true)
  return {
    credentials,
    replace({ credential, clientRoots }) {
      // Without roots Node would trust every public authority.
      if (clientRoots.certificates.length === 0) throw new Error('there are no roots to verify clients against')
      const caCertificate = Buffer.from(clientRoots.certificates.join('\n'))
      createSecureContext({ ca: caCertificate, cert: credential.chain, key: credential.privateKey })
      identity.publish({ certificate: Buffer.from(credential.chain), privateKey: Buffer.from(credential.privateKey) })
      roots.publish({ caCertificate })
    },
  }
}

/** Tells listeners the latest value, and each later one. */
class Publisher<T> {
  readonly #listeners = new Set<(value: T) => void>()
  #latest: T | undefined

  add(listener: (value: T) => void): void {
    this.#listeners.add(listener)
    if (this.#latest !== undefined) listener(this.#latest)
  }

  remove(listener: (value: T) => void): void {
    this.#listeners.delete(listener)
  }

  publish(value: T): void {
    this.#latest = value
    for (const listener of this.#listeners) listener(value)
  }
}

/** Each provider knows one half only, so that a swap of the two can't work by accident. */
class IdentityProvider implements Provider {
  readonly #identity = new Publisher<experimental.IdentityCertificateUpdate>()

  publish(update: experimental.IdentityCertificateUpdate): void {
    this.#identity.publish(update)
  }

  addIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identity.add(listener)
  }

  removeIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identity.remove(listener)
  }

  addCaCertificateListener(): never {
    throw new TypeError('the provider of the own certificate was asked for roots')
  }

  removeCaCertificateListener(): void {
    // None was ever added.
  }
}

class RootsProvider implements Provider {
  readonly #roots = new Publisher<experimental.CaCertificateUpdate>()

  publish(update: experimental.CaCertificateUpdate): void {
    this.#roots.publish(update)
  }

  addCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#roots.add(listener)
  }

  removeCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#roots.remove(listener)
  }

  addIdentityCertificateListener(): never {
    throw new TypeError('the provider of roots was asked for the own certificate')
  }

  removeIdentityCertificateListener(): void {
    // None was ever added.
  }
}
