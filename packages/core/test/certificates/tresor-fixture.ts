import { MemoryCaStore, type CaStore } from '../../src/certificates/ca-store.js'
import type { LeafRequest } from '../../src/certificates/certificate-provider.js'
import {
  certificateNames,
  type CertificateSubject,
  type ControlPlaneSubject,
  type ProxySubject,
  type ServiceSubject,
} from '../../src/certificates/certificate-subject.js'
import type { Certificate } from '../../src/certificates/certificate.js'
import { systemClock } from '../../src/certificates/clock.js'
import type { Authority, LeafKind } from '../../src/certificates/kinds.js'
import { issueLeaf } from '../../src/certificates/issue-leaf.js'
import { TresorProvider } from '../../src/certificates/tresor-provider.js'
import { PeerVerifier } from '../../src/certificates/verify.js'
import { parseMeshDomains } from '../../src/identity/mesh-domains.js'
import { parseProxyUUID } from '../../src/identity/proxy-identity.js'

export const HOUR = 3_600_000
export const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
export const bookbuyer = { namespace: 'bookstore', name: 'bookbuyer' } as const
export const uuid = parseProxyUUID('0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11')

export const proxy: ProxySubject = { kind: 'proxy', uuid, serviceAccount: bookbuyer }
export const service: ServiceSubject = {
  kind: 'service',
  serviceAccount: bookbuyer,
  services: [{ namespace: 'bookstore', name: 'books' }],
}
export const ads: ControlPlaneSubject = {
  kind: 'control-plane',
  name: 'ads',
  dnsNames: ['osm-controller.osm-system.svc.cluster.local'],
  ipAddresses: ['127.0.0.1'],
}

/** The built-in CA with fresh roots, and verifiers that trust them. */
export class TresorFixture {
  readonly provider: TresorProvider
  readonly store: CaStore

  private constructor(provider: TresorProvider, store: CaStore) {
    this.provider = provider
    this.store = store
  }

  static async open(): Promise<TresorFixture> {
    const store = new MemoryCaStore()
    const provider = await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
    return new TresorFixture(provider, store)
  }

  /** @param changes - what the certificate is to hold instead of what its subject should have */
  issue(subject: CertificateSubject, changes: Partial<LeafRequest> = {}): Promise<Certificate> {
    const names = certificateNames(subject, domains)
    const request = { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } as const, ...changes }
    return issueLeaf<LeafKind>(this.provider, request, new AbortController().signal)
  }

  verifier(authority: Authority, peer: 'client' | 'server' = 'client'): PeerVerifier {
    return new PeerVerifier({ authority, trustBundle: this.provider.trustBundle(authority), domains, peer })
  }
}

export function derOf(certificate: Certificate): Buffer {
  return Buffer.from(certificate.chain.split('\n').slice(1, -2).join(''), 'base64')
}
