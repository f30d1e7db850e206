import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey, type KindMap } from '../../../spec/index.js'

type Egress = KindMap['Egress']

const text = readFileSync(new URL('../../testdata/in/egress.yaml', import.meta.url), 'utf8')

function mesh(): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

function egress({ snapshot }: MeshFixture, name: string): Egress {
  return snapshot.get('Egress', 'shop', name) as Egress
}

function computed({ catalog }: MeshFixture, query: string): number {
  return catalog.counters().get(query)?.computed ?? 0
}

/** Ids of what an instance may reach outside the mesh. */
function ways(fixture: MeshFixture, instance: string): readonly string[] {
  const { parts } = fixture.document(instance)
  return Object.values(parts)
    .flatMap(({ kind, id }) => (kind === 'egress' ? [id] : []))
    .sort()
}

describe('policies and Egress objects', () => {
  it('are computed again for the accounts that an edited object names, and for no others', () => {
    const fixture = mesh()
    const edited = egress(fixture, 'b-orders')
    fixture.catalog.resetCounters()
    const changes = fixture.apply([{ ...edited, spec: { ...edited.spec, hosts: ['orders.example.com'] } }])
    expect(changes).toHaveLength(1)
    expect(computed(fixture, 'egress-plan')).toBe(1)
    expect(computed(fixture, 'proxy-part')).toBe(1)
    for (const query of ['outbound-part', 'upstream-part', 'endpoints-part', 'namespace-set'])
      expect([query, computed(fixture, query)]).toEqual([query, 0])
  })

  it('are not computed again by edits that say the same', () => {
    const fixture = mesh()
    const edited = egress(fixture, 'c-database')
    fixture.catalog.resetCounters()
    expect(
      fixture.apply([{ ...edited, spec: { ...edited.spec, ipAddresses: ['198.51.100.0/24', 'fd00::/64'] } }]),
    ).toEqual([])
    expect(computed(fixture, 'proxy-part')).toBe(0)
  })

  it('follow what an Egress refers to', () => {
    const fixture = mesh()
    expect(ways(fixture, 'shop/store-0')).toContain('http|api.example.com:80')
    fixture.apply([], [makeObjectKey('HTTPRouteGroup', 'shop', 'reading')])
    expect(ways(fixture, 'shop/store-0')).not.toContain('http|api.example.com:80')
    expect(ways(fixture, 'shop/store-0')).toContain('https|api.example.com:443')
  })

  it('close a host as soon as it is the name of a service', () => {
    const fixture = mesh()
    expect(ways(fixture, 'shop/buyer-0')).toContain('http|store.other:8000')
    const store = fixture.snapshot.get('Service', 'shop', 'store') as KindMap['Service']
    fixture.apply([{ ...store, metadata: { ...store.metadata, namespace: 'other' } }])
    expect(ways(fixture, 'shop/buyer-0')).not.toContain('http|store.other:8000')
  })

  it('close a host that is the address of a service on the port, in every form of it', () => {
    const fixture = mesh()
    fixture.apply(
      objectsOf(`
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: by-address, namespace: shop }
spec:
  sources: [{ kind: ServiceAccount, name: buyer, namespace: shop }]
  hosts: [10.96.0.10, '::ffff:10.96.0.10', '0:0:0:0:0:FFFF:0A60:000A', 192.0.2.10, '2001:DB8:0:0::1']
  ports: [{ number: 80, protocol: http }, { number: 8099, protocol: http }]
`),
    )
    const opened = ways(fixture, 'shop/buyer-0').filter((id) => /10\.96|a60|192\.0\.2\.10|2001/.test(id))
    expect(opened).toEqual([
      'http|10.96.0.10:8099',
      'http|192.0.2.10:80',
      'http|192.0.2.10:8099',
      'http|[2001:db8::1]:80',
      'http|[2001:db8::1]:8099',
      'http|[::ffff:a60:a]:8099',
    ])
    const problems = fixture.catalog.problems().filter(({ object }) => object?.name === 'by-address')
    expect(problems.map(({ code, field }) => `${code} ${field}`)).toEqual([
      'OSM_POLICY_EGRESS_MESH spec.hosts[0]',
      'OSM_POLICY_EGRESS_MESH spec.hosts[1]',
      'OSM_POLICY_EGRESS_MESH spec.hosts[2]',
    ])
  })

  it('let no one out whom no Egress names, and no one at all without the feature', () => {
    const fixture = mesh()
    expect(fixture.document('shop/thief-0').proxy.egress).toBeUndefined()
    fixture.apply(
      objectsOf(`
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: { name: osm-mesh-config, namespace: osm-system }
spec: { featureFlags: { enableEgressPolicy: false } }
`),
    )
    for (const instance of ['shop/buyer-0', 'shop/store-0'])
      expect(fixture.document(instance).proxy.egress).toBeUndefined()
    expect(fixture.catalog.problems().filter(({ object }) => object?.kind === 'Egress')).toEqual([])
  })

  it('have an address only while the Secret of their client certificate can be used, and are computed again for no one else', () => {
    const fixture = mesh()
    const upstream = (): unknown =>
      Object.values(fixture.document('shop/buyer-0').parts).find(
        ({ kind, id }) => kind === 'upstream' && id === 'pay.example.com:8443',
      )
    const complaints = (): readonly string[] =>
      fixture.catalog
        .problems()
        .flatMap(({ object, field, message }) => (object?.name === 'h-tls' && field?.includes('cert') ? [message] : []))
    const named = { kind: 'secret', namespace: 'shop', name: 'pay-client' }
    expect(upstream()).toMatchObject({ tls: { credential: named, roots: named } })

    fixture.catalog.resetCounters()
    fixture.catalog.apply({ secrets: new Map([['shop/pay-client', { usable: false, fault: 'does not exist' }]]) })
    expect(upstream()).toMatchObject({ tls: { mode: 'none' }, discovery: { kind: 'static', addresses: [] } })
    expect(complaints()).toEqual(['Secret shop/pay-client does not exist; requests of this source are answered 503'])
    expect(computed(fixture, 'proxy-part')).toBe(1)
    expect(computed(fixture, 'egress-rules')).toBe(1)

    fixture.catalog.apply({ secrets: new Map([['shop/pay-client', { usable: true }]]) })
    expect(upstream()).toMatchObject({ tls: { credential: named }, discovery: { kind: 'dns' } })
    expect(complaints()).toEqual([])
    fixture.catalog.apply({ secrets: new Map() })
    expect(complaints()).toEqual(['Secret shop/pay-client is not read yet; requests of this source are answered 503'])
  })

  it.each([
    [undefined, 'spec.sources[0].mtls.cert', 'is missing'],
    [{ name: 'pay-client', namespace: 'vault' }, 'spec.sources[0].mtls.cert.secret.namespace', 'must be shop'],
  ])('stay closed without a Secret in the namespace of the Egress: %j', (secret, field, message) => {
    const fixture = mesh()
    const { spec, ...rest } = egress(fixture, 'h-tls')
    const [source] = spec.sources
    if (source === undefined) throw new Error('it has sources')
    const cert = secret === undefined ? {} : { cert: { sn: 1, expiration: '2030-01-01T00:00:00Z', secret } }
    fixture.apply([{ ...rest, spec: { ...spec, sources: [{ ...source, mtls: { issuer: 'other', ...cert } }] } }])
    const problem = fixture.catalog.problems().find((each) => each.field === field)
    expect(problem?.message).toContain(message)
    expect(JSON.stringify(fixture.document('shop/buyer-0').parts)).not.toContain('"kind":"secret"')
  })

  it('say which objects a destination and its routes came from', () => {
    const fixture = mesh()
    const { parts } = fixture.document('shop/buyer-0')
    const [hash] = Object.entries(parts).find(([, { id }]) => id === 'http|api.example.com:80') ?? []
    const origins = (pointer: string) =>
      fixture.catalog
        .originsOf(hash as Parameters<typeof fixture.catalog.originsOf>[0], pointer)
        .map(({ object, field }) => `${object.kind} ${object.name} ${field ?? ''}`)
    expect(origins('/hosts')).toEqual([
      'Egress a-api spec.ports[0]',
      'Egress a-api spec.hosts[0]',
      'Egress b-orders spec.ports[0]',
      'Egress b-orders spec.hosts[0]',
    ])
    expect(origins('/routes/1')).toEqual(['Egress a-api spec.matches[0]', 'HTTPRouteGroup reading spec.matches[1]'])
    expect(origins('/routes/2')).toEqual(['Egress b-orders spec.ports[0]'])
  })
})
