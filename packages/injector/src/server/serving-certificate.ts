import { certificateRef, type CertificateManager, type ControlPlaneSubject, type MeshDomains } from '@osm-ts/core'

import type { ServingKey } from './webhook-server.js'

const NAME = 'osm-injector'

/** The certificate of the webhook, for the names of its Service. */
export class ServingCertificate {
  readonly #certificates: CertificateManager
  readonly #subject: ControlPlaneSubject
  readonly #ref: ReturnType<typeof certificateRef<'control-plane'>>

  constructor(certificates: CertificateManager, domains: MeshDomains, osmNamespace: string) {
    const host = `${NAME}.${osmNamespace}.svc`
    this.#certificates = certificates
    this.#subject = {
      kind: 'control-plane',
      name: NAME,
      dnsNames: [`${NAME}.${osmNamespace}`, host, `${host}.${domains.clusterDomain}`],
      ipAddresses: [],
    }
    this.#ref = certificateRef<'control-plane'>(this.#subject, domains)
  }

  async issue(): Promise<ServingKey> {
    return keyOf(await this.#certificates.issueCertificate(this.#subject))
  }

  /** Calls back with every certificate that replaces the one before, until the signal aborts. */
  async follow(listener: (key: ServingKey) => void, signal: AbortSignal): Promise<void> {
    for await (const { type } of this.#certificates.subscribe(signal)) {
      if (type !== 'rotated' && type !== 'missed') continue
      const certificate = this.#certificates.getCertificate(this.#ref)
      if (certificate !== undefined) listener(keyOf(certificate))
    }
  }
}

function keyOf(certificate: { readonly chain: string; privateKey(): string }): ServingKey {
  return { cert: certificate.chain, key: certificate.privateKey() }
}
