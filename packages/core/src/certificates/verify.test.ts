import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'

import { beforeAll, describe, expect, it } from '@jest/globals'
import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { parseMeshDomains } from '../identity/mesh-domains.js'
import { newProxyUUID, parseProxyUUID, proxyCommonName } from '../identity/proxy-identity.js'
import { MemoryCaStore } from './ca-store.js'
import type { LeafRequest } from './certificate-provider.js'
import { certificateNames, type CertificateSubject } from './certificate-subject.js'
import type { Certificate } from './certificate.js'
import { systemClock } from './clock.js'
import { AUTHORITIES, type Authority, type LeafKind } from './kinds.js'
import { TresorProvider } from './tresor-provider.js'
import { PeerVerifier } from './verify.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const { trustDomain } = domains
const bookbuyer: ServiceAccountRef = { namespace: 'bookstore', name: 'bookbuyer' }
const HOUR = 3_600_000
const uuid = parseProxyUUID('0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11')

const proxy: CertificateSubject = { kind: 'proxy', uuid, serviceAccount: bookbuyer }
const service: CertificateSubject = {
  kind: 'service',
  serviceAccount: bookbuyer,
  services: [{ namespace: 'bookstore', name: 'books' }],
}
const ads: CertificateSubject = {
  kind: 'control-plane',
  name: 'ads',
  dnsNames: ['osm-controller.osm-system.svc.cluster.local'],
  ipAddresses: ['127.0.0.1'],
}

let provider: TresorProvider

beforeAll(async () => {
  provider = await openProvider()
})

function openProvider(): Promise<TresorProvider> {
  return TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
}

function issue(subject: CertificateSubject, changes: Partial<LeafRequest> = {}, from = provider): Promise<Certificate> {
  const names = certificateNames(subject, domains)
  const request = { ...names, validityMs: HOUR, key: { algorithm: 'ECDSA' } as const, ...changes }
  return from.issue<LeafKind>(request, new AbortController().signal)
}

function verifier(authority: Authority, peer: 'client' | 'server' = 'client'): PeerVerifier {
  return new PeerVerifier({ authority, trustBundle: provider.trustBundle(authority), domains, peer })
}

function derOf(certificate: Certificate): Buffer {
  return Buffer.from(certificate.chain.split('\n').slice(1, -2).join(''), 'base64')
}

describe('a verified peer', () => {
  it('is the proxy that its certificate names', async () => {
    const certificate = await issue(proxy)
    expect(verifier('control-plane').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'proxy',
      commonName: proxyCommonName({ uuid, serviceAccount: bookbuyer }, trustDomain),
      uuid,
      serviceAccount: bookbuyer,
      serialNumber: certificate.serialNumber,
    })
  })

  it('is the service identity that its certificate names', async () => {
    const certificate = await issue(service)
    expect(verifier('workload').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'service',
      principal: 'bookbuyer.bookstore.cluster.local',
      spiffeId: 'spiffe://cluster.local/bookbuyer/bookstore',
      serviceAccount: bookbuyer,
      serverNames: ['books.bookstore.svc.cluster.local'],
      serialNumber: certificate.serialNumber,
    })
  })

  it('is the control plane', async () => {
    const certificate = await issue(ads)
    expect(verifier('control-plane', 'server').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'control-plane',
      dnsNames: ['ads.cluster.local', 'osm-controller.osm-system.svc.cluster.local'],
      serialNumber: certificate.serialNumber,
    })
  })

  it('may have names that no subject has room for', async () => {
    const long = { namespace: 'n'.repeat(63), name: `${'a'.repeat(120)}.${'b'.repeat(132)}` }
    const verified = verifier('workload').verify(
      derOf(await issue({ kind: 'service', serviceAccount: long, services: [] })),
      Date.now(),
    )
    expect(verified).toMatchObject({ kind: 'service', serviceAccount: long })
    const sidecar = await issue({ kind: 'proxy', uuid, serviceAccount: long })
    expect(verifier('control-plane').verify(derOf(sidecar), Date.now())).toMatchObject({ uuid, serviceAccount: long })
  })

  it('is never taken for a proxy of which it has the name only', async () => {
    const serviceAccount = { namespace: 'bookstore', name: `${uuid}.sidecar.bookbuyer` }
    const impostor = await issue({ kind: 'service', serviceAccount, services: [] })
    expect(impostor.commonName).toBe(proxyCommonName({ uuid, serviceAccount: bookbuyer }, trustDomain))
    expect(() => verifier('control-plane').verify(derOf(impostor), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
    expect(verifier('workload').verify(derOf(impostor), Date.now())).toMatchObject({ kind: 'service', serviceAccount })
  })
})

describe('a peer is refused', () => {
  const refused = (
    code: string,
    certificate: Certificate,
    authority: Authority,
    at = Date.now(),
    peer?: 'client' | 'server',
  ): void => {
    expect(() => verifier(authority, peer).verify(derOf(certificate), at)).toThrow(expect.objectContaining({ code }))
  }

  it('if the other authority signed', async () => {
    refused('OSM_CERT_PEER_UNTRUSTED', await issue(proxy), 'workload')
    refused('OSM_CERT_PEER_UNTRUSTED', await issue(ads), 'workload')
    refused('OSM_CERT_PEER_UNTRUSTED', await issue(service), 'control-plane')
  })

  it('if a root of the same name, but not of this mesh, signed', async () => {
    const stranger = await openProvider()
    refused('OSM_CERT_PEER_UNTRUSTED', await issue(proxy, {}, stranger), 'control-plane')
    refused('OSM_CERT_PEER_UNTRUSTED', await issue(service, {}, stranger), 'workload')
  })

  it('before and after the validity, but for a small difference of clocks', async () => {
    const certificate = await issue(service)
    const { notBefore, expiration } = certificate
    const skew = 30_000
    for (const at of [notBefore - skew, notBefore, expiration - 1, expiration + skew - 1])
      expect(verifier('workload').verify(derOf(certificate), at)).toMatchObject({ kind: 'service' })
    for (const at of [notBefore - skew - 1, expiration + skew, Number.NaN])
      refused('OSM_CERT_PEER_EXPIRED', certificate, 'workload', at)
  })

  it('once its root has expired', async () => {
    const certificate = await issue(service)
    refused('OSM_CERT_PEER_EXPIRED', certificate, 'workload', provider.rootCertificate('workload').expiration + HOUR)
  })

  it('if it presents a CA', () => {
    for (const authority of AUTHORITIES) refused('OSM_CERT_PEER_USAGE', provider.rootCertificate(authority), authority)
  })

  it.each([
    ['an address', { ipAddresses: ['127.0.0.1'] }],
    ['no SPIFFE ID', { uris: [] }],
    ['two SPIFFE IDs', { uris: ['spiffe://cluster.local/bookbuyer/bookstore', 'spiffe://cluster.local/a/b'] }],
    ['the SPIFFE ID of another trust domain', { uris: ['spiffe://example.org/bookbuyer/bookstore'] }],
    ['the SPIFFE ID of another account', { uris: ['spiffe://cluster.local/admin/bookstore'] }],
    ['a URI of another scheme', { uris: ['https://cluster.local/bookbuyer/bookstore'] }],
    ['no principal', { dnsNames: ['books.bookstore.svc.cluster.local'] }],
    ['a second principal', { dnsNames: ['bookbuyer.bookstore.cluster.local', 'admin.bookstore.cluster.local'] }],
    ['a wildcard', { dnsNames: ['bookbuyer.bookstore.cluster.local', '*.bookstore.svc.cluster.local'] }],
    ['a name from outside', { dnsNames: ['bookbuyer.bookstore.cluster.local', 'example.org'] }],
    ['a subject of another name', { commonName: 'admin.bookstore.cluster.local' }],
    [
      'a name that hides another',
      { dnsNames: ['bookbuyer.bookstore.cluster.local, DNS:admin.bookstore.cluster.local'] },
    ],
  ])('as a service with %s', async (_, changes) => {
    refused('OSM_CERT_PEER_NAME', await issue(service, changes), 'workload')
  })

  it('as a service whose principal is the server name of another', async () => {
    const commonName = 'books.bookstore.svc.cluster.local'
    const uris = ['spiffe://cluster.local/books.bookstore/svc']
    refused('OSM_CERT_PEER_NAME', await issue(service, { commonName, uris, dnsNames: [commonName] }), 'workload')
  })

  const sidecar = `${uuid}.sidecar.bookbuyer.bookstore.cluster.local`
  it.each([
    ['a second name', { dnsNames: [sidecar, 'ads.cluster.local'] }],
    ['a second name before its own', { dnsNames: ['ads.cluster.local', sidecar] }],
    ['the name of a second proxy', { dnsNames: [sidecar, sidecar.replace('0c2e', '0c2f')] }],
    ['an address', { ipAddresses: ['127.0.0.1'] }],
    ['a URI', { uris: ['spiffe://cluster.local/bookbuyer/bookstore'] }],
    ['no name', { dnsNames: [] }],
  ])('as a proxy with %s', async (_, changes) => {
    refused('OSM_CERT_PEER_NAME', await issue(proxy, changes), 'control-plane')
  })

  it('as a proxy whose subject names another', async () => {
    const short = parseMeshDomains({ trustDomain: 'c', clusterDomain: 'c' })
    const own = `${uuid}.sidecar.a.b.c`
    const other = own.replace('0c2e', '0c2f')
    const check = new PeerVerifier({
      authority: 'control-plane',
      trustBundle: provider.trustBundle('control-plane'),
      domains: short,
      peer: 'client',
    })
    const honest = await issue(proxy, { commonName: own, dnsNames: [own] })
    expect(check.verify(derOf(honest), Date.now())).toMatchObject({ kind: 'proxy', commonName: own })
    const impostor = await issue(proxy, { commonName: other, dnsNames: [own] })
    expect(() => check.verify(derOf(impostor), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_NAME' }),
    )
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['noise', Buffer.from('this is no certificate')],
    ['more than any certificate', Buffer.alloc(100_001, 0x30)],
  ])('if it presents %s', (_, der) => {
    expect(() => verifier('workload').verify(der, Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_MALFORMED' }),
    )
  })

  it('if a single bit of its certificate was changed', async () => {
    const der = derOf(await issue(service))
    for (let octet = 4; octet < der.length; octet += 7) {
      const changed = Buffer.from(der)
      changed.writeUInt8(changed.readUInt8(octet) ^ 0x01, octet)
      expect(() => verifier('workload').verify(changed, Date.now())).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^OSM_CERT_PEER_/) }),
      )
    }
  })

  it('by an empty bundle', async () => {
    const none = new PeerVerifier({ authority: 'workload', trustBundle: [], domains, peer: 'client' })
    const certificate = await issue(service)
    expect(() => none.verify(derOf(certificate), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
  })
})

describe('a bundle of two roots', () => {
  it('accepts what either has signed', async () => {
    const next = await openProvider()
    const check = new PeerVerifier({
      authority: 'workload',
      trustBundle: [...next.trustBundle('workload'), ...provider.trustBundle('workload')],
      domains,
      peer: 'client',
    })
    for (const from of [provider, next])
      expect(check.verify(derOf(await issue(service, {}, from)), Date.now())).toMatchObject({ kind: 'service' })
  })
})

describe('a TLS handshake', () => {
  interface Side {
    readonly certificate: Certificate
    readonly trusts: Authority
  }

  /** Resolves to the DER of what the server saw, or rejects with what either side raised. */
  async function handshake(server: Side, client: Side, servername: string): Promise<Buffer> {
    const options = ({ certificate, trusts }: Side) => ({
      cert: certificate.chain,
      key: certificate.privateKey(),
      ca: [...provider.trustBundle(trusts)],
      minVersion: 'TLSv1.2' as const,
    })
    const listener = tls.createServer({ ...options(server), requestCert: true, rejectUnauthorized: true })
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address() as AddressInfo // a TCP listener has one
    const socket = tls.connect({ ...options(client), host: '127.0.0.1', port, servername })
    try {
      const accepted = new Promise<Buffer>((resolve, reject) => {
        listener.once('secureConnection', (peer) => {
          const { raw } = peer.getPeerCertificate()
          peer.end()
          resolve(raw)
        })
        listener.once('tlsClientError', reject)
      })
      const connected = new Promise<void>((resolve, reject) => {
        socket.once('secureConnect', resolve)
        socket.once('error', reject)
      })
      const [raw] = await Promise.all([accepted, connected])
      return raw
    } finally {
      socket.on('error', () => undefined) // the refusal of the other side may still come in
      socket.destroy()
      listener.close()
    }
  }

  const controlPlane = async (): Promise<Side> => ({ certificate: await issue(ads), trusts: 'control-plane' })
  const sidecar = async (): Promise<Side> => ({ certificate: await issue(proxy), trusts: 'control-plane' })
  const workload = async (): Promise<Side> => ({ certificate: await issue(service), trusts: 'workload' })

  it('succeeds between a proxy and the control plane', async () => {
    for (const name of ['ads.cluster.local', 'osm-controller.osm-system.svc.cluster.local']) {
      const raw = await handshake(await controlPlane(), await sidecar(), name)
      expect(verifier('control-plane').verify(raw, Date.now())).toMatchObject({ kind: 'proxy', uuid })
    }
  })

  it('succeeds between sidecars, by the name of the service or by the principal', async () => {
    for (const name of ['books.bookstore.svc.cluster.local', 'bookbuyer.bookstore.cluster.local']) {
      const raw = await handshake(await workload(), await workload(), name)
      expect(verifier('workload').verify(raw, Date.now())).toMatchObject({ kind: 'service' })
    }
  })

  it('succeeds with names that no subject has room for', async () => {
    const serviceAccount = { namespace: 'bookstore', name: `account-${'x'.repeat(60)}` }
    const long = {
      certificate: await issue({ kind: 'service', serviceAccount, services: [] }),
      trusts: 'workload',
    } as const
    const raw = await handshake(long, long, long.certificate.commonName)
    expect(verifier('workload').verify(raw, Date.now())).toMatchObject({ serviceAccount })
  })

  it('succeeds with RSA keys', async () => {
    const rsa = {
      certificate: await issue(service, { key: { algorithm: 'RSA', bits: 2048 } }),
      trusts: 'workload',
    } as const
    const raw = await handshake(rsa, rsa, 'books.bookstore.svc.cluster.local')
    expect(verifier('workload').verify(raw, Date.now())).toMatchObject({ kind: 'service' })
  })

  it('fails where a service certificate asks the control plane to let it in', async () => {
    const intruder: Side = { ...(await workload()), trusts: 'control-plane' }
    await expect(handshake(await controlPlane(), intruder, 'ads.cluster.local')).rejects.toThrow()
  })

  it('fails where a service certificate passes itself off as the control plane', async () => {
    const impostor: Side = {
      certificate: await issue(service, { dnsNames: ['ads.cluster.local'] }),
      trusts: 'control-plane',
    }
    await expect(handshake(impostor, await sidecar(), 'ads.cluster.local')).rejects.toThrow(/certificate/)
  })

  it('fails where a proxy or control-plane certificate is used between sidecars', async () => {
    const name = 'books.bookstore.svc.cluster.local'
    for (const foreign of [await issue(proxy), await issue(ads)])
      await expect(handshake(await workload(), { certificate: foreign, trusts: 'workload' }, name)).rejects.toThrow()
    const server = { certificate: await issue(ads, { dnsNames: [name] }), trusts: 'workload' } as const
    await expect(handshake(server, await workload(), name)).rejects.toThrow(/certificate/)
  })

  it('fails where the server is another than the one that was called', async () => {
    const server = await workload()
    await expect(handshake(server, await workload(), 'other.bookstore.svc.cluster.local')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })
})

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
  ])('are not made for %s', (_, subject, code) => {
    expect(() => certificateNames(subject, domains)).toThrow(expect.objectContaining({ code }))
  })
})
