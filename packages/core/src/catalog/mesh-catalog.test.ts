import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { ProxyRef, ProxyUUID } from '@osm-ts/driver-api'
import { type InboundPart, type PartHash, partRefs } from '@osm-ts/driver-api/policy'

import { decodeManifests } from '../../test/generated/generated-mesh.js'
import * as manifests from '../../test/generated/manifests.js'
import { MeshFixture, meshConfig, objectsOf, proxyRef, uuidOf } from '../../test/catalog/mesh-fixture.js'
import { atOnce } from '../async/index.js'
import { resolveMeshConfig } from '../config/index.js'
import { type Endpoint, known, type EndpointsProvider } from '../endpoints/index.js'
import {
  parseMeshDomains,
  parseProxyCommonName,
  parseTrustDomain,
  proxyKey,
  proxyKeyOfInstance,
  type ProxyKey,
} from '../identity/index.js'
import { MeshSnapshot } from '../snapshot/index.js'
import { makeObjectKey, type KindMap, type MeshObject } from '../spec/index.js'
import { MeshCatalog } from './mesh-catalog.js'
import type { PolicyPart } from './policy/parts/policy-part.js'
import { mergeParticipation } from './views/participation.js'

const read = (scenario: string): readonly MeshObject[] => {
  const file = `${scenario}.yaml`
  return objectsOf(readFileSync(new URL(`testdata/in/${file}`, import.meta.url), 'utf8'), file)
}
const mesh = (scenario: string): MeshFixture => {
  const fixture = new MeshFixture()
  fixture.apply(read(scenario))
  return fixture
}
/** The proxy of `<namespace>/<workload>-<number>`, whose account is called after the workload. */
const proxy = (name: string): ProxyKey => {
  const [namespace = '', instance = ''] = name.split('/')
  return proxyKey({
    uuid: uuidOf(name) as ProxyUUID,
    serviceAccount: { namespace, name: instance.replace(/-\d+$/, '') },
  })
}
const nothing: EndpointsProvider = {
  id: 'none',
  listEndpointsForService: () => known([]),
  listIdentitiesForService: () => known([]),
  listServicesForIdentity: () => known([]),
  listEndpointsForIdentity: () => known([]),
  announcements: () => () => undefined,
}

const OTHER = '11111111-1111-4111-8111-111111111111'

function policyHashes({ catalog }: MeshFixture): ReadonlyMap<string, string | undefined> {
  return new Map(catalog.listProxies().map((each) => [each, catalog.policyFor(each)?.hash]))
}

/** Endpoints included. */
function documentVersions({ catalog }: MeshFixture): readonly (string | undefined)[] {
  return catalog.listProxies().map((each) => catalog.policyDocument(each)?.version)
}

describe('MeshCatalog and its host', () => {
  it('computes nothing before specification, configuration and roots are all there', () => {
    const catalog = new MeshCatalog({
      meshName: 'osm',
      osmNamespace: 'osm-system',
      domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
      endpointsProviders: [nothing],
      enrolment: { mode: 'all' },
    })
    const [instance] = read('traffic-target').filter(({ kind }) => kind === 'WorkloadInstance')
    const object = instance as KindMap['WorkloadInstance']
    const key = makeObjectKey('WorkloadInstance', object.metadata.namespace, object.metadata.name)
    const snapshot = MeshSnapshot.empty().with([{ key, before: undefined, after: object }])
    const { config } = resolveMeshConfig(
      undefined,
      { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
      { object: undefined, locate: () => undefined },
    )
    expect(catalog.apply({ spec: { snapshot, changed: [key] } })).toEqual([])
    expect(catalog.apply({ config })).toEqual([])
    expect([catalog.ready, catalog.listProxies(), catalog.problems()]).toEqual([false, [], []])
    expect(catalog.apply({ roots: ['pem'] }).map(({ proxy: changed }) => changed)).toEqual([proxyKeyOfInstance(object)])
    expect(catalog.ready).toBe(true)
  })

  it('may be settled policy by policy: listeners hear of each, and of the rest of the update at the end', () => {
    const fixture = new MeshFixture()
    const heard: unknown[] = []
    fixture.catalog.onPolicies((changed) => heard.push(changed.size))
    fixture.catalog.announcements(() => heard.push('announced'))
    fixture.take(read('traffic-target'))
    expect([fixture.catalog.settled, fixture.catalog.ready, heard]).toEqual([false, false, []])
    const changes = fixture.catalog.settle(() => false)
    expect(changes).toHaveLength(1)
    expect([fixture.catalog.settled, fixture.catalog.ready]).toEqual([false, false])
    const others = fixture.catalog.settle()
    expect([fixture.catalog.settled, fixture.catalog.ready]).toEqual([true, true])
    expect(heard).toEqual([1, others.length, 'announced'])
    const all = [...changes, ...others].map(({ proxy: changed }) => changed)
    expect(all.sort()).toEqual(fixture.catalog.listProxies())
    expect(fixture.catalog.settle()).toEqual([])
  })

  it('continues with the others where the policy of one proxy cannot be computed, and with that one after the next update', () => {
    let works = true
    const remote: EndpointsProvider = {
      ...nothing,
      listEndpointsForService: () => {
        if (works) return known([])
        throw new Error('a fault of ours')
      },
    }
    const fixture = new MeshFixture({ moreProviders: [remote] })
    fixture.apply(read('traffic-target'))
    const before = policyHashes(fixture)
    const heard: string[][] = []
    fixture.catalog.onPolicies((changed) => heard.push([...changed]))
    works = false
    // Of all that is new, only anyone who reads the endpoints of the service is concerned.
    const [instance] = fixture.snapshot.list('WorkloadInstance').filter(({ metadata }) => metadata.name === 'store-1')
    if (instance === undefined) throw new Error('the example has another workload')
    const spec = { ...instance.spec, uuid: OTHER, addresses: ['10.9.9.9'] }
    expect(() => fixture.apply([{ ...instance, metadata: { ...instance.metadata, name: 'store-9' }, spec }])).toThrow(
      'a fault of ours',
    )
    expect(heard.flat()).toContain(`${OTHER}/shop/store`)
    const [kept, now] = [before, policyHashes(fixture)]
    for (const [each, hash] of kept) expect(now.get(each)).toBe(hash)
    const documents = documentVersions(fixture)
    works = true
    fixture.apply([])
    // Of the new workload, whose policy was computed, the endpoints of the service were not known.
    expect(documentVersions(fixture)).not.toEqual(documents)
  })

  it('tells listeners which policies changed, and nothing when none did', () => {
    const fixture = mesh('traffic-target')
    const heard: string[][] = []
    const end = fixture.catalog.onPolicies((changed) => heard.push([...changed]))
    const group = fixture.snapshot.get('HTTPRouteGroup', 'shop', 'store-routes') as KindMap['HTTPRouteGroup']
    const [books, ...others] = group.spec.matches
    fixture.apply([{ ...group, spec: { matches: [{ ...books, name: 'books', pathRegex: '/novels' }, ...others] } }])
    fixture.apply([
      {
        ...group,
        metadata: { ...group.metadata, annotations: { note: 'nothing that matters' } },
        spec: { matches: [{ ...books, name: 'books', pathRegex: '/novels' }, ...others] },
      },
    ])
    end()
    fixture.apply([group])
    expect(heard).toEqual([[proxy('shop/store-0'), proxy('shop/store-1')].sort()])
  })

  it('gives one proxy to a subscriber: now, after changes, and at the end', () => {
    const fixture = mesh('traffic-target')
    const seen: (PartHash | undefined)[] = []
    fixture.catalog.subscribe(proxy('shop/buyer-0'), (policy) => seen.push(policy?.hash))
    fixture.apply([], [makeObjectKey('TrafficTarget', 'shop', 'watcher-reads')])
    fixture.apply([], [makeObjectKey('TrafficTarget', 'shop', 'buyer-buys')])
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'buyer-0')])
    expect(seen).toHaveLength(3)
    expect(new Set(seen).size).toBe(3)
    expect(seen[2]).toBeUndefined()
  })

  it('keeps parts of a version that somebody holds, and only those', () => {
    const fixture = mesh('traffic-target')
    const { catalog } = fixture
    const old = catalog.policyFor(proxy('shop/store-0')) as PolicyPart<never>
    const inbound = (old.part as { inbound: readonly { part: PartHash }[] }).inbound[0]?.part as PartHash
    catalog.parts.retain(old)
    fixture.apply([], [makeObjectKey('TrafficTarget', 'shop', 'watcher-reads')])
    expect((catalog.part(inbound) as InboundPart).id).toBe('shop/store|8080')
    catalog.parts.release(old)
    expect(() => catalog.part(inbound)).toThrow(expect.objectContaining({ code: 'OSM_PART_UNKNOWN' }))
  })

  it('sends traffic to a workload until policies are computed without it', () => {
    const fixture = mesh('traffic-target')
    const [instance] = read('traffic-target').filter(
      (object): object is KindMap['WorkloadInstance'] => object.kind === 'WorkloadInstance',
    )
    if (instance === undefined) throw new Error('the scenario has no workload')
    const key = proxyKeyOfInstance(instance)
    const withReady = (ready: boolean): readonly MeshObject[] =>
      read('traffic-target').map((object) =>
        object.kind === 'WorkloadInstance' && object.metadata.name === instance.metadata.name
          ? { ...object, spec: { ...object.spec, ready } }
          : object,
      )
    const seen = [fixture.catalog.takesTraffic(key)]
    // Endpoints alone would be others at once: a setting concerns every policy.
    fixture.take([...withReady(false), meshConfig({ traffic: { enableEgress: true } })])
    seen.push(fixture.catalog.takesTraffic(key))
    fixture.catalog.settle(() => false)
    seen.push(fixture.catalog.settled, fixture.catalog.takesTraffic(key))
    fixture.catalog.settle()
    seen.push(fixture.catalog.settled, fixture.catalog.takesTraffic(key))
    expect(seen).toEqual([true, true, false, true, true, false])
    fixture.apply(withReady(true))
    expect(fixture.catalog.takesTraffic(key)).toBe(true)
  })

  it('follows an instance whose sidecar uuid moves to another name', () => {
    const fixture = mesh('traffic-target')
    const before = fixture.snapshot.get('WorkloadInstance', 'shop', 'buyer-0') as KindMap['WorkloadInstance']
    const moved = { ...before, metadata: { ...before.metadata, name: 'buyer-7' } }
    const [change] = fixture.apply([moved], [makeObjectKey('WorkloadInstance', 'shop', 'buyer-0')])
    expect(change?.proxy).toBe(proxy('shop/buyer-0'))
    expect(change?.after?.part.workload.instance).toBe('buyer-7')
  })

  it('holds as children exactly what parts refer to', () => {
    const fixture = mesh('several-services')
    const check = ({ part, children }: PolicyPart): void => {
      expect([...new Set(children.map(({ hash }) => hash))].sort()).toEqual([...partRefs(part)].sort())
      children.forEach(check)
    }
    for (const each of fixture.catalog.listProxies()) {
      const policy = fixture.catalog.policyFor(each)
      if (policy !== undefined) check(policy)
    }
  })

  it('calls every listener even if one throws', () => {
    const fixture = mesh('traffic-target')
    let heard = 0
    fixture.catalog.onPolicies(() => {
      throw new Error('mine')
    })
    fixture.catalog.onPolicies(() => {
      heard += 1
    })
    expect(() => fixture.apply([], [makeObjectKey('TrafficTarget', 'shop', 'buyer-buys')])).toThrow('mine')
    expect(heard).toBe(1)
    expect(fixture.catalog.policyFor(proxy('shop/buyer-0'))?.part.outbound).toBeUndefined()
  })
})

describe('MeshCatalog and the origin of policies', () => {
  const fixture = mesh('traffic-target')
  const inbound = fixture.document('shop/store-0').proxy.inbound[0]?.part as PartHash
  const names = (pointer?: string) =>
    fixture.catalog
      .originsOf(inbound, pointer)
      .map(({ object, field }) => `${object.kind} ${object.name} ${field ?? ''}`.trim())

  it('leads from an element to the objects and fields it came from', () => {
    // The second rule is the one that two TrafficTargets share.
    expect(names('/rules/allow/1')).toEqual([
      'TrafficTarget buyer-buys spec.rules[0]',
      'HTTPRouteGroup store-routes spec.matches[0]',
      'TrafficTarget watcher-reads spec.rules[0]',
      'HTTPRouteGroup same-books spec.matches[0]',
    ])
    expect(names('/rules/allow/1/match/path')).toEqual(names('/rules/allow/1'))
  })

  it('leads from what has no origin of its own to that of the part', () => {
    expect(names('/serverNames/0')).toEqual(['Service store spec.ports[0]'])
    expect(names('/rules/allow')).toEqual(['Service store spec.ports[0]'])
  })

  it('says where objects are written down', () => {
    const [first] = fixture.catalog.originsOf(inbound, '/rules/allow/1')
    expect(first?.origin).toMatchObject({ kind: 'file', file: 'traffic-target.yaml' })
    expect(fixture.catalog.originsOf('unknown' as PartHash)).toEqual([])
  })

  it('asks anyone who knows for the place of a field', () => {
    const located = new MeshFixture({
      locate: (key, field) => ({ kind: 'file', file: `${key}#${field ?? ''}`, line: 1, column: 1 }),
    })
    located.apply(read('accounts'))
    expect(located.catalog.problems()[0]?.origin).toMatchObject({
      file: expect.stringContaining('HTTPRouteGroup/bank/broken#spec.matches'),
    })
  })
})

describe('MeshCatalog and its questions', () => {
  const shop = mesh('traffic-target').catalog
  const store = { namespace: 'shop', name: 'store' }
  const buyer = { namespace: 'shop', name: 'buyer' }
  const watcher = { namespace: 'street', name: 'watcher' }
  const thief = { namespace: 'street', name: 'thief' }

  it('knows the specification', () => {
    expect(
      shop
        .getSMISpec()
        .listTrafficTargets()
        .map(({ metadata }) => metadata.name),
    ).toEqual(['buyer-buys', 'watcher-reads'])
    const policies = shop.listSMIPolicies()
    expect(policies.serviceAccounts).toEqual([buyer, store, watcher])
    expect(policies.httpRouteGroups).toHaveLength(2)
    expect([policies.trafficSplits, policies.weightedServices]).toEqual([[], []])
  })

  it('tells who may call whom', () => {
    expect(shop.listAllowedInboundServiceAccounts(store)).toEqual([buyer, watcher])
    expect(shop.listAllowedInboundServiceAccounts(buyer)).toEqual([])
    expect(shop.listAllowedOutboundServiceAccounts(buyer)).toEqual([store])
    expect(shop.listAllowedOutboundServiceAccounts(thief)).toEqual([])
    expect(shop.listServiceAccountsForService(store)).toEqual([store])
    expect(shop.getServicesForServiceAccount(store)).toEqual([store])
    // The callers are behind no service.
    expect(shop.listAllowedInboundServices(store)).toEqual([])
  })

  it('tells services that may call a service', () => {
    const recursive = mesh('tcp-and-http').catalog
    const data = { namespace: 'shop', name: 'data' }
    expect(recursive.listAllowedInboundServices(data)).toEqual([data])
  })

  it('lists traffic policies of a service, once each, with what they allow', () => {
    const [first, second, ...more] = shop.listTrafficPolicies(store)
    expect(more).toEqual([])
    expect(first).toMatchObject({
      target: { kind: 'TrafficTarget', name: 'buyer-buys' },
      source: { account: buyer, services: [] },
      destination: { account: store, services: [store] },
      tcpPorts: [],
    })
    expect(first?.httpRoutes).toHaveLength(2)
    expect(second?.source.account).toEqual(watcher)
    const data = mesh('tcp-and-http').catalog.listTrafficPolicies({ namespace: 'shop', name: 'data' })
    expect(data.map(({ target, tcpPorts }) => [target.name, tcpPorts])).toEqual([
      ['careless', []],
      ['checker-reads-some', [8080, 8082, 8083]],
      ['data-talks-to-itself', '*'],
      ['dumper-connects', [8080, 8082, 8083]],
      ['dumper-reads-too', []],
      ['reader-reads', []],
    ])
  })

  it('lets everybody call everybody in permissive mode', () => {
    const { catalog } = mesh('permissive')
    const accounts = [
      { namespace: 'bank', name: 'ledger' },
      { namespace: 'shop', name: 'store' },
    ]
    expect(catalog.listAllowedInboundServiceAccounts(store)).toEqual(accounts)
    expect(catalog.listAllowedOutboundServiceAccounts(store)).toEqual(accounts)
    expect(catalog.listAllowedInboundServices(store)).toEqual(accounts)
    expect(catalog.listTrafficPolicies(store)).toEqual([])
  })

  it('names the ten host aliases of a service, and eight to other namespaces', () => {
    const { catalog } = mesh('split-zero-weight')
    const v1 = { namespace: 'default', name: 'bookstore-v1' }
    const names = catalog.getResolvableHostnamesForUpstreamService({ namespace: 'default', name: 'bookbuyer' }, v1)
    expect(names).toHaveLength(10)
    expect(names).toContain('bookstore-v1')
    expect(names).toContain('bookstore-v1.default.svc.cluster.local:8888')
    const others = catalog.getResolvableHostnamesForUpstreamService({ namespace: 'elsewhere', name: 'x' }, v1)
    expect(others).toHaveLength(8)
    expect(others).not.toContain('bookstore-v1')
  })

  it('tells the share that a service gets of a split', () => {
    const { catalog } = mesh('split-zero-weight')
    const weight = (name: string) => catalog.getWeightedClusterForService({ namespace: 'default', name })
    expect(weight('bookstore-v1')).toEqual({
      service: { namespace: 'default', name: 'bookstore-v1' },
      weight: 0,
      upstreams: ['default/bookstore-v1|80'],
    })
    expect(weight('bookstore-v2').weight).toBe(100)
    expect(weight('bookstore-apex').weight).toBe(100)
    expect(
      mesh('split-several').catalog.getWeightedClusterForService({ namespace: 'shop', name: 'site-next' }).upstreams,
    ).toEqual([])
  })

  it('lists endpoints of a service, and of all that a client may call, with word of changes', () => {
    const fixture = mesh('traffic-target')
    const { catalog } = fixture
    expect(catalog.listEndpointsForService(store).map(({ address, port }) => `${address}:${port}`)).toEqual([
      '10.0.0.1:8080',
      '10.0.0.2:8080',
    ])
    const first = atOnce(catalog.listEndpoints(buyer))
    expect([first.endpoints[0]?.endpoints.length, first.changed]).toEqual([2, true])
    expect(atOnce(catalog.listEndpoints(buyer)).changed).toBe(false)
    let announced = 0
    const end = catalog.announcements(() => {
      announced += 1
    })
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'store-1')])
    end()
    expect(announced).toBe(1)
    const second = atOnce(catalog.listEndpoints(buyer))
    expect([second.endpoints[0]?.endpoints.length, second.changed]).toEqual([1, true])
    expect(atOnce(catalog.listEndpoints(thief))).toEqual({ endpoints: [], changed: true })
    expect(catalog.listEndpointsProviders().map(({ id }) => id)).toEqual(['folder'])
  })

  it('names the accounts that may be behind other services where nothing but endpoints is new', () => {
    const fixture = mesh('traffic-target')
    const { catalog } = fixture
    const heard: unknown[] = []
    catalog.announcements((accounts) => heard.push(accounts))
    catalog.apply({ endpoints: { services: [store], accounts: [buyer] } })
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'store-1')])
    expect(heard).toEqual([[buyer], undefined])
    catalog.apply({ roots: ['another'] })
    catalog.apply({ secrets: new Map() })
    expect(heard).toHaveLength(2)
    catalog.apply({ endpoints: { services: [store], accounts: [] } })
    expect(heard.slice(2)).toEqual([[]])
    // Told together where the one came while the other was computed.
    catalog.take({ endpoints: { services: [store], accounts: [buyer] } })
    catalog.apply({ endpoints: { services: [store], accounts: [thief] } })
    catalog.take({ endpoints: { services: [store], accounts: [buyer] } })
    fixture.apply([])
    expect(heard.slice(3)).toEqual([[buyer, thief], undefined])
  })

  it('tells what IngressBackends let in', () => {
    const fixture = mesh('traffic-target')
    const ingress = (text: string): void => {
      fixture.apply(
        objectsOf(
          `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: IngressBackend\nmetadata: { name: in, namespace: shop }\n${text}`,
        ),
      )
    }
    ingress(`spec:
  backends:
    - { name: store, port: { number: 8080, protocol: https }, tls: { skipClientCertValidation: false, sniHosts: [b.example, a.example] } }
    - { name: store, port: { number: 8081, protocol: http } }
    - { name: other, port: { number: 80, protocol: http } }
  sources:
    - { kind: IPRange, name: 10.9.0.0/16 }
    - { kind: Service, name: store, namespace: shop }
    - { kind: AuthenticatedPrincipal, name: gateway.edge }
`)
    const { catalog } = fixture
    const policies = catalog.getIngressPoliciesForService(store, store)
    expect(policies).toEqual([
      {
        ingress: { kind: 'IngressBackend', namespace: 'shop', name: 'in' },
        targetPort: 8080,
        protocol: 'https',
        hosts: ['a.example', 'b.example'],
        routes: [{}],
        sources: ['10.0.0.1/32', '10.0.0.2/32', '10.9.0.0/16'],
        principals: ['gateway.edge'],
        tls: 'mtls',
      },
      expect.objectContaining({ targetPort: 8081, hosts: ['*'], tls: 'none' }),
    ])
    expect([...catalog.getIngressRoutesPerHost(store)]).toEqual([
      ['*', [{}]],
      ['a.example', [{}]],
      ['b.example', [{}]],
    ])
    expect(catalog.getIngressPoliciesForService(store, buyer)).toEqual([])
    fixture.apply([meshConfig({ featureFlags: { enableIngressBackendPolicy: false } })])
    expect(catalog.getIngressPoliciesForService(store, store)).toEqual([])
  })
})

describe('MeshCatalog and proxies', () => {
  const fixture = mesh('traffic-target')
  const { catalog } = fixture
  const commonName = (name: string, account: string): string => `${uuidOf(name)}.sidecar.${account}.cluster.local`
  const store0 = commonName('shop/store-0', 'store.shop')
  const buyer0 = commonName('shop/buyer-0', 'buyer.shop')
  const connected = (name: string, session: string): ProxyRef =>
    proxyRef(proxyKey(parseProxyCommonName(name, parseTrustDomain('cluster.local'))), session)

  it('leads from a proxy certificate to services', () => {
    expect(catalog.getServicesFromProxyCertificate(store0)).toEqual([{ namespace: 'shop', name: 'store' }])
    expect(catalog.getServicesFromProxyCertificate(buyer0)).toEqual([])
  })

  it.each([
    ['is of another account than the workload', commonName('shop/store-0', 'buyer.shop'), 'OSM_PROXY_UNKNOWN'],
    ['names no workload', commonName('shop/store-9', 'store.shop'), 'OSM_PROXY_UNKNOWN'],
    ['is not a name of a proxy', 'store.shop.cluster.local', 'OSM_IDENTITY_PROXY_NAME'],
  ])('refuses a certificate that %s', (_, name, code) => {
    expect(() => catalog.getServicesFromProxyCertificate(name)).toThrow(expect.objectContaining({ code }))
  })

  it('counts as participants proxies with a certificate, a connection and an endpoint', () => {
    const names = () => catalog.listParticipants().map(({ commonName: name }) => name)
    catalog.expectProxy(store0)
    expect(names()).toEqual([])
    catalog.registerProxy(connected(store0, 'one'))
    // Connected, but no certificate of it was ever issued here.
    catalog.registerProxy(connected(commonName('shop/store-1', 'store.shop'), 'x'))
    // Behind no service.
    catalog.expectProxy(buyer0)
    catalog.registerProxy(connected(buyer0, 'y'))
    expect(catalog.listParticipants()).toEqual([
      { uuid: uuidOf('shop/store-0'), commonName: store0, services: [{ namespace: 'shop', name: 'store' }] },
    ])
    catalog.registerProxy(connected(store0, 'two'))
    catalog.unregisterProxy(connected(store0, 'one'))
    expect(names()).toEqual([store0])
    catalog.unregisterProxy(connected(store0, 'two'))
    expect(names()).toEqual([])
    catalog.registerProxy(connected(store0, 'three'))
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'store-0')])
    expect(names()).toEqual([])
  })

  it('says how far each proxy has got, and which endpoints no connected proxy stands before', () => {
    const plain = { namespace: 'shop', name: 'store' }
    const own = new MeshFixture()
    own.apply(read('traffic-target'))
    const states = () => own.catalog.participation().proxies.map(({ name, state }) => `${name} ${state}`)
    const lonely = () =>
      own.catalog.participation().endpointsWithoutProxy.map(({ service, reason }) => ({ service, reason }))
    expect(states()).toEqual([])
    const notConnected = { service: plain, reason: 'notConnected' }
    expect(lonely()).toEqual([notConnected, notConnected])
    const store1 = commonName('shop/store-1', 'store.shop')
    for (const name of [store0, store1, buyer0]) own.catalog.expectProxy(name)
    own.catalog.registerProxy(connected(store0, 'one'))
    own.catalog.registerProxy(connected(buyer0, 'two'))
    expect(states()).toEqual(['shop/buyer-0 withoutEndpoint', 'shop/store-0 participant', 'shop/store-1 unclaimed'])
    expect(lonely()).toEqual([notConnected])
    own.catalog.proxies.claim(proxy('shop/store-1'))
    own.catalog.registerProxy(connected(store1, 'three'))
    own.catalog.unregisterProxy(connected(store1, 'three'))
    expect(states()[2]).toBe('shop/store-1 disconnected')
  })

  it('remembers what it told as many clients as have a bounded number of services together', () => {
    const place = { namespace: 'shop', name: 's' }
    const many = Array.from({ length: 100 }, (_, at) => manifests.service({ ...place, name: `s${at}` }))
    const own = new MeshFixture()
    own.apply(
      decodeManifests([...many, manifests.meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } })]),
    )
    const listed = atOnce(own.catalog.listEndpoints({ ...place, name: 'first' }))
    expect([listed.endpoints.length, listed.changed]).toEqual([100, true])
    const isNewAfter = (clients: number): boolean => {
      for (let at = 0; at < clients; at += 1) atOnce(own.catalog.listEndpoints({ ...place, name: `c${at}` }))
      return atOnce(own.catalog.listEndpoints({ ...place, name: 'first' })).changed
    }
    expect(isNewAfter(900)).toBe(false)
    expect(isNewAfter(1_000)).toBe(true)
  })

  it('says so in steps of a service or a proxy, and asks a provider once who is behind a service', () => {
    const endpoint: Endpoint = {
      ...{
        address: '',
        port: 8080,
        servicePort: 80,
        targetPort: 8080,
        weight: 1,
        priority: 0,
        locality: { region: '', zone: '', subZone: '' },
        cluster: '',
      },
      ...{ account: undefined, sidecar: undefined, hostname: undefined },
    }
    const many = Array.from({ length: 100 }, (_, at) => ({ ...endpoint, address: `10.9.0.${at}` }))
    let asked = 0
    const counting: EndpointsProvider = {
      ...nothing,
      id: 'counting',
      listEndpointsForService: () => {
        asked += 1
        return known(many)
      },
    }
    const own = new MeshFixture({ moreProviders: [counting] })
    own.apply(read('traffic-target'))
    const services = own.snapshot.list('Service')
    asked = 0
    const { endpointsWithoutProxy } = own.catalog.participation()
    expect(endpointsWithoutProxy.filter(({ provider }) => provider === 'counting')).toHaveLength(100 * services.length)
    // For the endpoints of all providers, and for those of each.
    expect(asked).toBeLessThanOrEqual(2 * services.length)
    expect([...own.catalog.participationInSteps()]).toHaveLength(
      services.length + own.snapshot.list('WorkloadInstance').length,
    )
  })

  it('knows from all replicas together who takes part', () => {
    const replicas = [new MeshFixture(), new MeshFixture()].map((replica) => {
      replica.apply(read('traffic-target'))
      for (const name of [store0, commonName('shop/store-1', 'store.shop')]) replica.catalog.expectProxy(name)
      return replica.catalog
    })
    const [one, two] = replicas
    one?.registerProxy(connected(store0, 'one'))
    expect(mergeParticipation(replicas.map((replica) => replica.participation()))).toEqual(one?.participation())
    two?.registerProxy(connected(commonName('shop/store-1', 'store.shop'), 'two'))
    const { proxies, endpointsWithoutProxy } = mergeParticipation(replicas.map((replica) => replica.participation()))
    expect(proxies.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'shop/store-0 participant',
      'shop/store-1 participant',
    ])
    expect(endpointsWithoutProxy).toEqual([])
  })
})

describe('MeshCatalog and namespaces', () => {
  it('forgets a namespace that leaves the mesh, and takes it in again when it joins', () => {
    const fixture = new MeshFixture({ enrolment: { mode: 'labelled', meshName: 'osm' } })
    const namespace = (name: string, labels: Readonly<Record<string, string>>): KindMap['Namespace'] => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, namespace: '', labels, annotations: {} },
      spec: {},
      origin: { kind: 'file', file: 'n.yaml', line: 1, column: 1 },
    })
    const member = { 'openservicemesh.io/monitored-by': 'osm' }
    fixture.apply([...read('traffic-target'), namespace('shop', member)])
    const before = fixture.catalog.policyFor(proxy('shop/buyer-0'))?.hash
    expect(fixture.catalog.listProxies()).toEqual(
      [proxy('shop/buyer-0'), proxy('shop/store-0'), proxy('shop/store-1')].sort(),
    )
    const gone = fixture.apply([namespace('shop', { ...member, 'openservicemesh.io/ignore': 'true' })])
    expect(gone.map(({ after }) => after)).toEqual([undefined, undefined, undefined])
    expect([
      fixture.catalog.listProxies(),
      fixture.catalog.parts.size,
      fixture.catalog.listSMIPolicies().trafficTargets,
    ]).toEqual([[], 0, []])
    fixture.apply([namespace('shop', member)])
    expect(fixture.catalog.policyFor(proxy('shop/buyer-0'))?.hash).toBe(before)
  })
})

describe('MeshCatalog and endpoints providers', () => {
  it('reports a provider that is not sure, and continues with what it says', () => {
    let sure = true
    const condition = {
      code: 'OSM_ENDPOINTS_PROVIDER_FAILED',
      severity: 'warning',
      message: 'the cloud does not answer',
    } as const
    const remote: EndpointsProvider = {
      ...nothing,
      id: 'remote',
      listEndpointsForService: () => (sure ? known([]) : { state: 'stale', items: [], conditions: [condition] }),
    }
    const fixture = new MeshFixture({ moreProviders: [remote] })
    fixture.apply(read('traffic-target'))
    expect(fixture.catalog.problems()).toEqual([])
    sure = false
    expect(
      fixture.catalog.apply({ endpoints: { services: [{ namespace: 'shop', name: 'store' }], accounts: [] } }),
    ).toEqual([])
    expect(fixture.catalog.problems()).toMatchObject([
      {
        code: 'OSM_POLICY_ENDPOINTS_UNSURE',
        object: { kind: 'Service', name: 'store' },
        message: 'the cloud does not answer',
      },
    ])
  })
})
