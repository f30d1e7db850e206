import { describe, expect, it } from '@jest/globals'

import { ads, bookbuyer, domains, service } from '../../test/certificates/tresor-fixture.js'
import { newProxyUUID } from '../identity/proxy-identity.js'
import { certificateNames, type CertificateSubject } from './certificate-subject.js'

describe('names in certificates', () => {
  it('are those of the subject, sorted, each once', () => {
    const names = certificateNames(
      {
        kind: 'service',
        serviceAccount: bookbuyer,
        services: ['b', 'a', 'b', 'c-0.c'].map((name) => ({ namespace: 'bookstore', name })),
      },
      domains,
    )
    expect(names.dnsNames).toEqual([
      'bookbuyer.bookstore.cluster.local',
      'a.bookstore.svc.cluster.local',
      'b.bookstore.svc.cluster.local',
      'c-0.c.bookstore.svc.cluster.local',
    ])
    expect(names.uris).toEqual(['spiffe://cluster.local/bookbuyer/bookstore'])
  })

  it('never let a caller from outside pass for a workload, even under the name of an account', () => {
    const names = ['edge.example', 'Gateway.Edge.cluster.local']
    const certificate = certificateNames({ kind: 'outside', names }, domains)
    expect(certificate.dnsNames).toEqual(['edge.example', 'gateway.edge.cluster.local'])
    // What drivers know an identity by: a URI, or a common name that is a DNS name too.
    expect(certificate.uris).toEqual([])
    expect(certificate.dnsNames).not.toContain(certificate.commonName)
    expect(certificate.commonName).not.toContain('cluster.local')
    expect(certificateNames({ kind: 'outside', names: ['edge.example'] }, domains).commonName).toBe('edge.example')
  })

  it.each<[string, CertificateSubject, string]>([
    ['a wildcard', { ...service, services: [{ namespace: 'a', name: '*' }] }, 'OSM_IDENTITY_SERVICE'],
    ['a service elsewhere', { ...service, services: [{ namespace: 'a.b', name: 'c' }] }, 'OSM_IDENTITY_NAMESPACE'],
    [
      'an account that reads like a service',
      { ...service, serviceAccount: { namespace: 'svc', name: 'books.bookstore' } },
      'OSM_CERT_AMBIGUOUS_NAME',
    ],
    [
      'more services than fit',
      { ...service, services: Array.from({ length: 3000 }, (_, i) => ({ namespace: 'a', name: `service-${i}` })) },
      'OSM_CERT_TOO_MANY_NAMES',
    ],
    ['a server that is not a label', { ...ads, name: 'a.b' }, 'OSM_CERT_REQUEST'],
    ['a server with a wildcard', { ...ads, dnsNames: ['*.cluster.local'] }, 'OSM_CERT_REQUEST'],
    [
      'a server with the name of a proxy',
      { ...ads, dnsNames: [`${newProxyUUID()}.sidecar.a.b.cluster.local`] },
      'OSM_CERT_REQUEST',
    ],
    ['a server at no address', { ...ads, ipAddresses: ['localhost'] }, 'OSM_CERT_REQUEST'],
    ['the trust domain', { kind: 'outside', names: ['ok.example', 'Cluster.local'] }, 'OSM_CERT_REQUEST'],
    ['an outside caller as a server', { kind: 'outside', names: ['ads.cluster.local'] }, 'OSM_CERT_REQUEST'],
    ['an outside caller as a service', { kind: 'outside', names: ['a.b.svc.cluster.local'] }, 'OSM_CERT_REQUEST'],
    [
      'an outside caller as a sidecar',
      { kind: 'outside', names: [`${newProxyUUID()}.sidecar.a.b.cluster.local`] },
      'OSM_CERT_REQUEST',
    ],
    ['an outside caller with a wildcard', { kind: 'outside', names: ['*.example'] }, 'OSM_CERT_REQUEST'],
    ['an outside caller without a name', { kind: 'outside', names: [] }, 'OSM_CERT_REQUEST'],
  ])('are not made for %s', (_, subject, code) => {
    expect(() => certificateNames(subject, domains)).toThrow(expect.objectContaining({ code }))
  })
})
