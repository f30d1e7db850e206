import type { Credential, TrustBundle } from '@osm-ts/driver-api'
import { Latest } from '@osm-ts/driver-api/toolkit'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import { certificateRef } from '../certificates/certificate-subject.js'
import type { MeshDomains } from '../identity/mesh-domains.js'

/** First label of the common name of the server that proxies connect to, as OSM names it. */
export const PROXY_SERVER_NAME = 'ads'

/** What {@link serverCredentials} needs. */
export interface ServerCredentialOptions {
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  readonly serverNames: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] }
}

/** What a proxy control plane's server presents and whom it accepts. */
export interface ServerCredential {
  readonly credential: Credential
  readonly clientRoots: TrustBundle
}

/** The certificate of the proxy control plane with the roots of its clients, then each that replaces one of them. */
export async function* serverCredentials(
  options: ServerCredentialOptions,
  roots: Latest<TrustBundle>,
  signal: AbortSignal,
): AsyncGenerator<ServerCredential, void, undefined> {
  const { certificates, domains, serverNames } = options
  const subject = { kind: 'control-plane', name: PROXY_SERVER_NAME, ...serverNames } as const
  const { commonName } = certificateRef<'control-plane'>(subject, domains)
  const merged = new Latest<ServerCredential>()
  const ended = new AbortController()
  const scope = AbortSignal.any([signal, ended.signal])
  // Subscribed before the first certificate is asked for, so that no rotation falls between the two.
  const announcements = certificates.subscribe(scope)
  let credential = (await certificates.issueCertificate(subject)).credential()
  const offer = (): void => {
    const clientRoots = roots.current
    if (clientRoots !== undefined) merged.set({ credential, clientRoots })
  }
  const followCertificate = async (): Promise<void> => {
    for await (const announcement of announcements) {
      if (announcement.type !== 'rotated' && announcement.type !== 'missed') continue
      if (announcement.type === 'rotated' && announcement.certificate.commonName !== commonName) continue
      const current = certificates.getCertificate({ kind: 'control-plane', commonName })
      if (current === undefined || current.serialNumber === credential.serialNumber) continue
      credential = current.credential()
      offer()
    }
  }
  const followRoots = async (): Promise<void> => {
    for await (const bundle of roots.watch(scope)) if (bundle.id !== merged.current?.clientRoots.id) offer()
  }
  const followers = Promise.all([followCertificate(), followRoots()]).finally(() => {
    merged.close()
  })
  try {
    yield* merged.watch(scope)
  } finally {
    ended.abort()
    await followers
  }
}
