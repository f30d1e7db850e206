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
    ['a server that is no label', { ...ads, name: 'a.b' }, 'OSM_CERT_REQUEST'],
    ['a server with a wildcard', { ...ads, dnsNames: ['*.cluster.local'] }, 'OSM_CERT_REQUEST'],
    [
      'a server with the name of a proxy',
      { ...ads, dnsNames: [`${newProxyUUID()}.sidecar.a.b.cluster.local`] },
      'OSM_CERT_REQUEST',
    ],
    ['a server at no address', { ...ads, ipAddresses: ['localhost'] }, 'OSM_CERT_REQUEST'],
    [
      'an outside caller under the trust domain',
      { kind: 'outside', names: ['ok.example', 'Gateway.Edge.cluster.local'] },
      'OSM_CERT_REQUEST',
    ],
    ['an outside caller with a wildcard', { kind: 'outside', names: ['*.example'] }, 'OSM_CERT_REQUEST'],
    ['an outside caller without a name', { kind: 'outside', names: [] }, 'OSM_CERT_REQUEST'],
  ])('are not made for %s', (_, subject, code) => {
    expect(() => certificateNames(subject, domains)).toThrow(expect.objectContaining({ code }))
  })
})
