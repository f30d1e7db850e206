import { type CertificateManager, certificateRef, type ControlPlaneSubject, type MeshDomains } from '@osm-ts/core'

/** A chain and its key, both PEM. */
export interface ServingKey {
  readonly cert: string
  /** Secret. */
  readonly key: string
}

/** The certificate of a server behind a Service. */
export interface ServingCertificate {
  current(): ServingKey
  /** Calls back with every certificate that replaces one. Ends with the signal. */
  follow(listener: (next: ServingKey) => void, signal: AbortSignal): Promise<void>
}

/** Issues the certificate that a server of the control plane shows to the API server, and keeps it fresh. */
export async function servingCertificate(options: {
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  readonly osmNamespace: string
  /** Name of the Service. */
  readonly name: string
}): Promise<ServingCertificate> {
  const { certificates, domains, osmNamespace, name } = options
  const host = `${name}.${osmNamespace}.svc`
  const subject: ControlPlaneSubject = {
    kind: 'control-plane',
    name,
    dnsNames: [`${name}.${osmNamespace}`, host, `${host}.${domains.clusterDomain}`],
    ipAddresses: [],
  }
  const ref = certificateRef<'control-plane'>(subject, domains)
  let certificate = await certificates.issueCertificate(subject)
  const key = (): ServingKey => {
    const { chain, privateKey } = certificate.credential()
    return { cert: chain, key: privateKey }
  }
  return {
    current: key,
    follow: async (listener, signal) => {
      const take = (): void => {
        const now = certificates.getCertificate(ref)
        if (now === undefined || now.serialNumber === certificate.serialNumber) return
        certificate = now
        listener(key())
      }
      const announcements = certificates.subscribe(signal)
      // One may have been replaced between its issue and the subscription.
      take()
      for await (const announcement of announcements)
        if (announcement.type === 'rotated' || announcement.type === 'missed') take()
    },
  }
}
