import { sign } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import {
  ads,
  bookbuyer,
  derOf,
  domains,
  HOUR,
  proxy,
  service,
  TresorFixture,
  uuid,
} from '../../test/certificates/tresor-fixture.js'
import { parseMeshDomains } from '../identity/mesh-domains.js'
import { proxyCommonName } from '../identity/proxy-identity.js'
import type { Certificate } from './certificate.js'
import { bitString, tag, tlv } from './der.js'
import { AUTHORITIES, type Authority } from './kinds.js'
import { PeerVerifier } from './verify.js'

let mesh: TresorFixture

beforeAll(async () => {
  mesh = await TresorFixture.open()
})

afterAll(() => mesh.provider.close())

describe('a verified peer', () => {
  it('is the proxy that its certificate names', async () => {
    const certificate = await mesh.issue(proxy)
    expect(mesh.verifier('control-plane').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'proxy',
      commonName: proxyCommonName({ uuid, serviceAccount: bookbuyer }, domains.trustDomain),
      uuid,
      serviceAccount: bookbuyer,
      serialNumber: certificate.serialNumber,
    })
  })

  it('is the service identity that its certificate names', async () => {
    const certificate = await mesh.issue(service)
    expect(mesh.verifier('workload').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'service',
      principal: 'bookbuyer.bookstore.cluster.local',
      spiffeId: 'spiffe://cluster.local/bookbuyer/bookstore',
      serviceAccount: bookbuyer,
      serverNames: ['books.bookstore.svc.cluster.local'],
      serialNumber: certificate.serialNumber,
    })
  })

  it('is the control plane', async () => {
    const certificate = await mesh.issue(ads)
    expect(mesh.verifier('control-plane', 'server').verify(derOf(certificate), Date.now())).toEqual({
      kind: 'control-plane',
      dnsNames: ['ads.cluster.local', 'osm-controller.osm-system.svc.cluster.local'],
      serialNumber: certificate.serialNumber,
    })
  })

  it('may have names that no subject has room for', async () => {
    const long = { namespace: 'n'.repeat(63), name: `${'a'.repeat(120)}.${'b'.repeat(132)}` }
    const verified = mesh
      .verifier('workload')
      .verify(derOf(await mesh.issue({ kind: 'service', serviceAccount: long, services: [] })), Date.now())
    expect(verified).toMatchObject({ kind: 'service', serviceAccount: long })
    const sidecar = await mesh.issue({ kind: 'proxy', uuid, serviceAccount: long })
    expect(mesh.verifier('control-plane').verify(derOf(sidecar), Date.now())).toMatchObject({
      uuid,
      serviceAccount: long,
    })
  })

  it('is never taken for a proxy of which it has the name only', async () => {
    const serviceAccount = { namespace: 'bookstore', name: `${uuid}.sidecar.bookbuyer` }
    const impostor = await mesh.issue({ kind: 'service', serviceAccount, services: [] })
    expect(impostor.commonName).toBe(proxyCommonName({ uuid, serviceAccount: bookbuyer }, domains.trustDomain))
    expect(() => mesh.verifier('control-plane').verify(derOf(impostor), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
    expect(mesh.verifier('workload').verify(derOf(impostor), Date.now())).toMatchObject({
      kind: 'service',
      serviceAccount,
    })
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
    expect(() => mesh.verifier(authority, peer).verify(derOf(certificate), at)).toThrow(
      expect.objectContaining({ code }),
    )
  }

  it('if the other authority signed', async () => {
    refused('OSM_CERT_PEER_UNTRUSTED', await mesh.issue(proxy), 'workload')
    refused('OSM_CERT_PEER_UNTRUSTED', await mesh.issue(ads), 'workload')
    refused('OSM_CERT_PEER_UNTRUSTED', await mesh.issue(service), 'control-plane')
  })

  it('if a root of the same name, but not of this mesh, signed', async () => {
    const stranger = await TresorFixture.open()
    refused('OSM_CERT_PEER_UNTRUSTED', await stranger.issue(proxy), 'control-plane')
    refused('OSM_CERT_PEER_UNTRUSTED', await stranger.issue(service), 'workload')
  })

  it('before and after the validity, but for a small difference of clocks', async () => {
    const certificate = await mesh.issue(service)
    const { notBefore, expiration } = certificate
    const skew = 30_000
    for (const at of [notBefore - skew, notBefore, expiration - 1, expiration + skew - 1])
      expect(mesh.verifier('workload').verify(derOf(certificate), at)).toMatchObject({ kind: 'service' })
    for (const at of [notBefore - skew - 1, expiration + skew, Number.NaN])
      refused('OSM_CERT_PEER_EXPIRED', certificate, 'workload', at)
  })

  it('once its time is over, though it was accepted before, and its own mesh alone remembers it', async () => {
    const certificate = await mesh.issue(service)
    const verifier = mesh.verifier('workload')
    const first = verifier.verify(derOf(certificate), certificate.notBefore)
    expect(verifier.verify(derOf(certificate), certificate.expiration - 1)).toBe(first)
    for (const at of [certificate.expiration + HOUR, mesh.provider.rootCertificate('workload').expiration + HOUR])
      expect(() => verifier.verify(derOf(certificate), at)).toThrow(
        expect.objectContaining({ code: 'OSM_CERT_PEER_EXPIRED' }),
      )
    const other = derOf(certificate)
    other[other.length - 1] = (other.at(-1) ?? 0) ^ 1
    expect(() => verifier.verify(other, Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
    const stranger = await TresorFixture.open()
    expect(() => stranger.verifier('workload').verify(derOf(certificate), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
  })

  it('once its root has expired', async () => {
    const certificate = await mesh.issue(service)
    refused(
      'OSM_CERT_PEER_EXPIRED',
      certificate,
      'workload',
      mesh.provider.rootCertificate('workload').expiration + HOUR,
    )
  })

  it('if it presents a CA', () => {
    for (const authority of AUTHORITIES)
      refused('OSM_CERT_PEER_USAGE', mesh.provider.rootCertificate(authority), authority)
  })

  it('if its certificate is for the other side, or for something else altogether', async () => {
    const root = await mesh.store.load('workload')
    const der = derOf(await mesh.issue(service))
    const [serverAuth, clientAuth] = ['06082b06010505070301', '06082b06010505070302'].map((hex) =>
      Buffer.from(hex, 'hex'),
    )
    const codeSigning = Buffer.from('06082b06010505070303', 'hex')
    /** The certificate with another key usage in place of one that it has, signed again. */
    const without = (usage: Buffer): Buffer => {
      const body = Buffer.from(der.subarray(4, 8 + der.readUInt16BE(6)))
      codeSigning.copy(body, body.indexOf(usage))
      const algorithm = Buffer.from('300a06082a8648ce3d040302', 'hex')
      return tlv(tag.sequence, body, algorithm, bitString(sign('sha256', body, root?.privateKey() ?? '')))
    }
    for (const [usage, peer, other] of [
      [serverAuth, 'server', 'client'],
      [clientAuth, 'client', 'server'],
    ] as const) {
      const changed = without(usage ?? Buffer.alloc(0))
      expect(mesh.verifier('workload', other).verify(changed, Date.now())).toMatchObject({ kind: 'service' })
      expect(() => mesh.verifier('workload', peer).verify(changed, Date.now())).toThrow(
        expect.objectContaining({ code: 'OSM_CERT_PEER_USAGE' }),
      )
    }
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
    refused('OSM_CERT_PEER_NAME', await mesh.issue(service, changes), 'workload')
  })

  it('as a service whose principal is the server name of another', async () => {
    const commonName = 'books.bookstore.svc.cluster.local'
    const uris = ['spiffe://cluster.local/books.bookstore/svc']
    refused('OSM_CERT_PEER_NAME', await mesh.issue(service, { commonName, uris, dnsNames: [commonName] }), 'workload')
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
    refused('OSM_CERT_PEER_NAME', await mesh.issue(proxy, changes), 'control-plane')
  })

  it('as a proxy whose subject names another', async () => {
    const short = parseMeshDomains({ trustDomain: 'c', clusterDomain: 'c' })
    const own = `${uuid}.sidecar.a.b.c`
    const other = own.replace('0c2e', '0c2f')
    const check = new PeerVerifier({
      authority: 'control-plane',
      trustBundle: mesh.provider.trustBundle('control-plane'),
      domains: short,
      peer: 'client',
    })
    const honest = await mesh.issue(proxy, { commonName: own, dnsNames: [own] })
    expect(check.verify(derOf(honest), Date.now())).toMatchObject({ kind: 'proxy', commonName: own })
    const impostor = await mesh.issue(proxy, { commonName: other, dnsNames: [own] })
    expect(() => check.verify(derOf(impostor), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_NAME' }),
    )
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['noise', Buffer.from('this is not a certificate')],
    ['more than any certificate', Buffer.alloc(100_001, 0x30)],
  ])('if it presents %s', (_, der) => {
    expect(() => mesh.verifier('workload').verify(der, Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_MALFORMED' }),
    )
  })

  it('if a single bit of its certificate was changed', async () => {
    const der = derOf(await mesh.issue(service))
    for (let octet = 4; octet < der.length; octet += 7) {
      const changed = Buffer.from(der)
      changed.writeUInt8(changed.readUInt8(octet) ^ 0x01, octet)
      expect(() => mesh.verifier('workload').verify(changed, Date.now())).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^OSM_CERT_PEER_/) }),
      )
    }
  })

  it('by an empty bundle', async () => {
    const none = new PeerVerifier({ authority: 'workload', trustBundle: [], domains, peer: 'client' })
    const certificate = await mesh.issue(service)
    expect(() => none.verify(derOf(certificate), Date.now())).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_PEER_UNTRUSTED' }),
    )
  })
})

describe('a bundle of two roots', () => {
  it('accepts what either has signed', async () => {
    const next = await TresorFixture.open()
    const check = new PeerVerifier({
      authority: 'workload',
      trustBundle: [...next.provider.trustBundle('workload'), ...mesh.provider.trustBundle('workload')],
      domains,
      peer: 'client',
    })
    for (const from of [mesh, next])
      expect(check.verify(derOf(await from.issue(service)), Date.now())).toMatchObject({ kind: 'service' })
  })
})
