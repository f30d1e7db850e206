import { describe, expect, it } from '@jest/globals'
import type { ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'
import fc from 'fast-check'

import { isDnsDomain, isDnsLabel, isDnsSubdomain } from './dns-name.js'
import { parseMeshDomains, parseTrustDomain, type TrustDomain } from './mesh-domains.js'
import { newProxyUUID, parseProxyCommonName, parseProxyUUID, proxyCommonName } from './proxy-identity.js'
import { parseServerName, readsAsServerName, serverNameOf } from './server-name.js'
import {
  parsePrincipal,
  parseServiceIdentity,
  parseSpiffeId,
  principalOf,
  serviceIdentity,
  spiffeIdOf,
} from './service-identity.js'

const letters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789')
const inner = fc.string({ unit: fc.constantFrom(...letters, '-'), maxLength: 12 })
const end = fc.constantFrom(...letters)
/** Labels, with those that could confuse a parser drawn more often than chance would. */
const label = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(end, inner, end).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.constantFrom('sidecar', 'svc', 'cluster', 'local', 'ads', 'a', '0') },
  { weight: 1, arbitrary: fc.uuid() },
)
const subdomain = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'))
const account: fc.Arbitrary<ServiceAccountRef> = fc.record({ namespace: label, name: subdomain })
const trustDomain: fc.Arbitrary<TrustDomain> = subdomain.map(parseTrustDomain)
const uuid: fc.Arbitrary<ProxyUUID> = fc.uuid().map(parseProxyUUID)
const proxy = fc.record({ uuid, serviceAccount: account })
const hostile = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...letters, '.', '-', '/', ':', '*', '\n', '\0', 'A', 'é') }),
  fc.tuple(subdomain, fc.constantFrom('.', '..', '\n', ' ', '.*', '%2e')).map((parts) => parts.join('')),
)

describe('names of DNS', () => {
  it.each([
    ['a', true, true, true],
    ['a-b', true, true, true],
    ['0', true, true, true],
    ['a.b', false, true, true],
    ['a'.repeat(63), true, true, true],
    ['a'.repeat(64), false, true, false],
    ['', false, false, false],
    ['-a', false, false, false],
    ['a-', false, false, false],
    ['A', false, false, false],
    ['a..b', false, false, false],
    ['.a', false, false, false],
    ['a.', false, false, false],
    ['a\n', false, false, false],
    ['*.a', false, false, false],
    ['ä', false, false, false],
    [`${'a.'.repeat(126)}a`, false, true, true],
    [`${'a.'.repeat(127)}a`, false, false, false],
  ])('%j', (text, isLabel, isSubdomain, isDomain) => {
    expect([isDnsLabel(text), isDnsSubdomain(text), isDnsDomain(text)]).toEqual([isLabel, isSubdomain, isDomain])
  })
})

describe('identities', () => {
  const td = parseTrustDomain('cluster.local')

  it('writes the forms that OSM documents', () => {
    const bookbuyer = { namespace: 'bookstore', name: 'bookbuyer' }
    expect(serviceIdentity(bookbuyer)).toBe('bookbuyer.bookstore')
    expect(principalOf(bookbuyer, td)).toBe('bookbuyer.bookstore.cluster.local')
    expect(spiffeIdOf(bookbuyer, td)).toBe('spiffe://cluster.local/bookbuyer/bookstore')
    const id = parseProxyUUID('0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11')
    expect(proxyCommonName({ uuid: id, serviceAccount: bookbuyer }, td)).toBe(
      '0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11.sidecar.bookbuyer.bookstore.cluster.local',
    )
  })

  it('reads what it wrote, dots in service accounts included', () => {
    fc.assert(
      fc.property(account, trustDomain, uuid, (ref, domain, id) => {
        expect(parseServiceIdentity(serviceIdentity(ref))).toEqual(ref)
        expect(parsePrincipal(principalOf(ref, domain), domain)).toEqual(ref)
        expect(parseSpiffeId(spiffeIdOf(ref, domain), domain)).toEqual(ref)
        const named = { uuid: id, serviceAccount: ref }
        expect(parseProxyCommonName(proxyCommonName(named, domain), domain)).toEqual(named)
      }),
    )
  })

  it('gives two identities two texts', () => {
    fc.assert(
      fc.property(account, account, trustDomain, (a, b, domain) => {
        const same = a.name === b.name && a.namespace === b.namespace
        expect(serviceIdentity(a) === serviceIdentity(b)).toBe(same)
        expect(principalOf(a, domain) === principalOf(b, domain)).toBe(same)
        expect(spiffeIdOf(a, domain) === spiffeIdOf(b, domain)).toBe(same)
      }),
    )
  })

  it('gives two proxies two texts', () => {
    fc.assert(
      fc.property(proxy, proxy, trustDomain, (a, b, domain) => {
        const same = a.uuid === b.uuid && serviceIdentity(a.serviceAccount) === serviceIdentity(b.serviceAccount)
        expect(proxyCommonName(a, domain) === proxyCommonName(b, domain)).toBe(same)
      }),
    )
  })

  it('accepts a text only if it is exactly what the constructor writes, and refuses all others with a coded error', () => {
    const parsers = [
      (text: string) => serviceIdentity(parseServiceIdentity(text)),
      (text: string) => principalOf(parsePrincipal(text, td), td),
      (text: string) => spiffeIdOf(parseSpiffeId(text, td), td),
      (text: string) => proxyCommonName(parseProxyCommonName(text, td), td),
      (text: string) => parseProxyUUID(text),
    ]
    const decorated = fc.oneof(
      hostile,
      hostile.map((text) => `${text}.cluster.local`),
      hostile.map((text) => `spiffe://cluster.local/${text}`),
      fc.tuple(uuid, hostile).map(([id, text]) => `${id}.sidecar.${text}.cluster.local`),
      fc.tuple(uuid, subdomain).map(([id, text]) => `${id}.sidecar.${text}.cluster.local`),
    )
    fc.assert(
      fc.property(decorated, (text) => {
        for (const parse of parsers) {
          let written: string
          try {
            written = parse(text)
          } catch (error) {
            expect(error).toMatchObject({ code: expect.stringMatching(/^OSM_IDENTITY_/) })
            continue
          }
          expect(written).toBe(text)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('never takes the holder of one account for the proxy of another', () => {
    fc.assert(
      fc.property(uuid, proxy, label, trustDomain, (attackerId, victim, namespace, domain) => {
        const name = `${victim.uuid}.sidecar.${victim.serviceAccount.name}`
        fc.pre(isDnsSubdomain(name))
        const attacker = { uuid: attackerId, serviceAccount: { namespace, name } }
        expect(parseProxyCommonName(proxyCommonName(attacker, domain), domain)).toEqual(attacker)
      }),
    )
  })

  it.each([
    ['another trust domain', 'a.b.other.local'],
    ['no account', 'b.cluster.local'],
    ['the bare trust domain', 'cluster.local'],
    ['a wildcard', '*.b.cluster.local'],
    ['upper case', 'A.b.cluster.local'],
    ['a trailing dot', 'a.b.cluster.local.'],
    ['a trailing newline', 'a.b.cluster.local\n'],
  ])('refuses as a principal: %s', (_, text) => {
    expect(() => parsePrincipal(text, td)).toThrow(expect.objectContaining({ code: 'OSM_IDENTITY_PRINCIPAL' }))
  })

  it.each([
    ['upper case in the UUID', '0C2E2E2D-3a0c-4b5c-9f6e-0d6f3c1d7a11.sidecar.a.b.cluster.local'],
    ['no UUID', 'ads.sidecar.a.b.cluster.local'],
    ['another second label', '0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11.gateway.a.b.cluster.local'],
    ['no namespace', '0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11.sidecar.a.cluster.local'],
    ['labels before the UUID', 'x.0c2e2e2d-3a0c-4b5c-9f6e-0d6f3c1d7a11.sidecar.a.b.cluster.local'],
    ['the nil UUID', '00000000-0000-0000-0000-000000000000.sidecar.a.b.cluster.local'],
  ])('refuses as a proxy: %s', (_, text) => {
    expect(() => parseProxyCommonName(text, td)).toThrow(expect.objectContaining({ code: 'OSM_IDENTITY_PROXY_NAME' }))
  })

  it('refuses names that Kubernetes would refuse', () => {
    expect(() => serviceIdentity({ namespace: 'a.b', name: 'c' })).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_NAMESPACE' }),
    )
    expect(() => serviceIdentity({ namespace: 'a', name: '*' })).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_SERVICE_ACCOUNT' }),
    )
  })

  it('makes fresh ids that its own parser accepts', () => {
    const id = newProxyUUID()
    expect(parseProxyUUID(id)).toBe(id)
    expect(newProxyUUID()).not.toBe(id)
  })

  it('cuts long texts of strangers in messages', () => {
    expect(() => parsePrincipal('x'.repeat(100_000), td)).toThrow(/^.{0,300}$/)
  })
})

describe('domains and names of services', () => {
  const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

  it('reads what it wrote', () => {
    fc.assert(
      fc.property(subdomain, label, (name, namespace) => {
        const service = { namespace, name }
        const text = serverNameOf(service, domains.clusterDomain)
        expect(parseServerName(text, domains.clusterDomain)).toEqual(service)
      }),
    )
  })

  it.each(['svc.cluster.local', 'a.svc.cluster.local', 'a.b.cluster.local', '*.b.svc.cluster.local', 'a.b.svc.other'])(
    'takes %s for no server name',
    (text) => {
      expect(parseServerName(text, domains.clusterDomain)).toBeUndefined()
    },
  )

  it.each(['svc.cluster.local', 'west.svc.cluster.local'])('refuses trust domain %s', (text) => {
    expect(() => parseMeshDomains({ trustDomain: text, clusterDomain: 'cluster.local' })).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_DOMAINS_OVERLAP' }),
    )
  })

  it.each(['', 'Cluster.local', 'cluster..local', '.local', `${'a'.repeat(64)}.local`])('refuses domain %j', (text) => {
    expect(() => parseMeshDomains({ trustDomain: text, clusterDomain: 'x' })).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_TRUST_DOMAIN' }),
    )
    expect(() => parseMeshDomains({ trustDomain: 'x', clusterDomain: text })).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_CLUSTER_DOMAIN' }),
    )
  })

  it('knows the accounts whose principal is the server name of a service', () => {
    expect(readsAsServerName({ namespace: 'svc', name: 'bookstore.default' }, domains)).toBe(true)
    expect(readsAsServerName({ namespace: 'svc', name: 'bookstore' }, domains)).toBe(false)
    expect(readsAsServerName({ namespace: 'default', name: 'bookstore.svc' }, domains)).toBe(false)
    const apart = parseMeshDomains({ trustDomain: 'mesh.example', clusterDomain: 'cluster.local' })
    expect(readsAsServerName({ namespace: 'svc', name: 'bookstore.default' }, apart)).toBe(false)
  })

  it('leaves no principal that equals a server name, whatever the domains', () => {
    // Three labels only, so that texts do collide.
    const few = fc.constantFrom('svc', 'c', 'd')
    const fewDotted = fc.array(few, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'))
    let collisions = 0
    fc.assert(
      fc.property(few, fewDotted, fewDotted, fewDotted, few, fewDotted, (ns, sa, trust, cluster, namespace, name) => {
        fc.pre(trust !== `svc.${cluster}` && !trust.endsWith(`.svc.${cluster}`))
        const any = parseMeshDomains({ trustDomain: trust, clusterDomain: cluster })
        const ref = { namespace: ns, name: sa }
        if (principalOf(ref, any.trustDomain) !== serverNameOf({ namespace, name }, any.clusterDomain)) return
        collisions += 1
        expect(readsAsServerName(ref, any)).toBe(true)
      }),
      { numRuns: 20_000, seed: 1 },
    )
    expect(collisions).toBeGreaterThan(0)
  })

  it('refuses services that Kubernetes would refuse', () => {
    expect(() => serverNameOf({ namespace: 'a', name: '*' }, domains.clusterDomain)).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_SERVICE' }),
    )
    expect(() => serverNameOf({ namespace: 'a.b', name: 'c' }, domains.clusterDomain)).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_NAMESPACE' }),
    )
  })
})
