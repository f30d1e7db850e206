import { describe, expect, it } from '@jest/globals'
import { canonicalJson, checkPolicy, type OutboundPart, type Part, type ProxyPolicy } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey } from '../../../spec/index.js'

const document = (apiVersion: string, kind: string, name: string, spec: string): string => {
  const [namespace = '', own = ''] = name.split('/')
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: ${own}, namespace: ${namespace}, labels: { app: ${own} } }\nspec: ${spec}\n---\n`
}
const workload = (name: string): string =>
  document(
    'standalone.openservicemesh.io/v1alpha1',
    'Workload',
    name,
    `{ serviceAccountName: ${name.split('/')[1] ?? ''}, command: [x] }`,
  )
const served = (name: string): string =>
  workload(name) +
  document(
    'v1',
    'Service',
    name,
    `{ selector: { app: ${name.split('/')[1] ?? ''} }, ports: [{ name: http, port: 80 }] }`,
  )
const reference = (name: string): string => {
  const [namespace = '', own = ''] = name.split('/')
  return `{ group: "", kind: Service, name: ${own}, namespace: ${namespace}, port: 80 }`
}
const route = (name: string, parent: string, backend: string): string =>
  document(
    'gateway.networking.k8s.io/v1',
    'HTTPRoute',
    name,
    `{ parentRefs: [${reference(parent)}], rules: [{ backendRefs: [${reference(backend)}] }] }`,
  )
const grant = (to: string, from: string): string =>
  document(
    'gateway.networking.k8s.io/v1',
    'ReferenceGrant',
    `${to}/routes`,
    `{ from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: ${from} }], to: [{ group: "", kind: Service }] }`,
  )
const target = (destination: string, source: string): string => {
  const [, own = ''] = destination.split('/')
  const [from = '', account = ''] = source.split('/')
  return document(
    'access.smi-spec.io/v1alpha3',
    'TrafficTarget',
    destination,
    `{ destination: { kind: ServiceAccount, name: ${own} }, rules: [{ kind: TCPRoute, name: all }], sources: [{ kind: ServiceAccount, name: ${account}, namespace: ${from} }] }`,
  )
}
const config = (isPermissive: boolean): string =>
  document(
    'config.openservicemesh.io/v1alpha2',
    'MeshConfig',
    'osm-system/osm-mesh-config',
    `{ traffic: { enablePermissiveTrafficPolicyMode: ${String(isPermissive)} } }`,
  )
const mesh = (isPermissive: boolean): string =>
  [
    config(isPermissive),
    served('shop/first'),
    served('shop/second'),
    served('guest/third'),
    workload('guest/client'),
    workload('other/client'),
    workload('shop/client'),
  ].join('')

const fixtureOf = (text: string): MeshFixture => {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

/** Upstreams to which the sidecar of a workload sends requests to a service. */
function upstreamsOf({ parts }: ProxyPolicy, service: string): readonly string[] {
  const isMeant = (part: Part): part is OutboundPart => part.kind === 'outbound' && part.id === `${service}|80`
  return Object.values(parts)
    .filter(isMeant)
    .flatMap(({ rules }) =>
      rules.kind === 'http' ? rules.routes.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)) : [],
    )
}

const texts = (fixture: MeshFixture): ReadonlyMap<string, string> =>
  new Map([...fixture.documents()].map(([name, policy]) => [name, canonicalJson(policy)]))

describe('a route in the namespace of a client', () => {
  it('replaces those of the namespace of the Service for its clients, and changes no byte for others', () => {
    const producer = route('shop/first', 'shop/first', 'shop/second')
    const fixture = fixtureOf(mesh(true) + producer)
    const before = texts(fixture)
    const added = objectsOf(route('guest/first', 'shop/first', 'guest/third'))
    fixture.apply(added)
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual(['guest/third|80'])
    expect(upstreamsOf(fixture.document('other/client-0'), 'shop/first')).toEqual(['shop/second|80'])
    for (const [name, text] of texts(fixture)) expect(name.startsWith('guest/') || text === before.get(name)).toBe(true)
    for (const policy of fixture.documents().values()) expect(checkPolicy(policy)).toEqual([])
    fixture.apply([], [makeObjectKey('HTTPRoute', 'guest', 'first')])
    expect(texts(fixture)).toEqual(before)
  })

  it('may name the Service itself without its consent, and others of its namespace only with it', () => {
    const own = fixtureOf(mesh(true) + route('guest/first', 'shop/first', 'shop/first'))
    expect(upstreamsOf(own.document('guest/client-0'), 'shop/first')).toEqual(['shop/first|80'])
    const fixture = fixtureOf(mesh(true) + route('guest/first', 'shop/first', 'shop/second'))
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual([])
    expect(fixture.catalog.problems()).toMatchObject([
      { code: 'OSM_SPEC_REF_NOT_PERMITTED', object: { kind: 'HTTPRoute', namespace: 'guest', name: 'first' } },
    ])
    fixture.apply(objectsOf(grant('shop', 'guest')))
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual(['shop/second|80'])
    expect(fixture.catalog.problems()).toEqual([])
    fixture.apply([], [makeObjectKey('GatewayReferenceGrant', 'shop', 'routes')])
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual([])
  })

  it('shows the Service to those clients of its namespace that may call a backend, and to no others', () => {
    const all = document('specs.smi-spec.io/v1alpha4', 'TCPRoute', 'guest/all', '{}')
    const allowed = ['guest/client', 'other/client'].map((source) =>
      target('guest/third', source).replace('name: third', `name: of-${source.replace('/', '-')}`),
    )
    const fixture = fixtureOf(
      [mesh(false), all, ...allowed, route('guest/first', 'shop/first', 'guest/third')].join(''),
    )
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual(['guest/third|80'])
    const other = fixture.document('other/client-0')
    expect(upstreamsOf(other, 'guest/third')).toEqual(['guest/third|80'])
    expect(upstreamsOf(other, 'shop/first')).toEqual([])
  })
})

describe('a backend in another namespace', () => {
  it.each([
    ['that clients call as well', [served('depot/stock')]],
    [
      'that has routes of its own',
      [served('depot/stock'), served('depot/spare'), route('depot/stock', 'depot/stock', 'depot/spare')],
    ],
  ])('%s is one part of their policies', (_title, more) => {
    const fixture = fixtureOf(
      [mesh(true), ...more, grant('depot', 'shop'), route('shop/first', 'shop/first', 'depot/stock')].join(''),
    )
    const policy = fixture.document('other/client-0')
    expect(upstreamsOf(policy, 'shop/first')).toEqual(['depot/stock|80'])
    const upstreams = Object.values(policy.parts).filter(
      ({ kind, id }) => kind === 'upstream' && id === 'depot/stock|80',
    )
    expect(upstreams).toHaveLength(1)
    expect(checkPolicy(policy)).toEqual([])
  })
})

describe('routes in a cycle', () => {
  it('send requests to the workloads of a backend, and on to no one else', () => {
    const fixture = fixtureOf(
      mesh(true) + route('shop/one', 'shop/first', 'shop/second') + route('shop/two', 'shop/second', 'shop/first'),
    )
    const policy = fixture.document('shop/client-0')
    expect(upstreamsOf(policy, 'shop/first')).toEqual(['shop/second|80'])
    expect(upstreamsOf(policy, 'shop/second')).toEqual(['shop/first|80'])
    expect(fixture.catalog.problems()).toEqual([])
  })

  it('across namespaces end where no grant permits them, and the other one holds', () => {
    const objects = [
      mesh(true),
      route('shop/one', 'shop/first', 'guest/third'),
      route('guest/two', 'guest/third', 'shop/first'),
      grant('guest', 'shop'),
    ]
    const policy = fixtureOf(objects.join('')).document('other/client-0')
    expect(upstreamsOf(policy, 'shop/first')).toEqual(['guest/third|80'])
    expect(upstreamsOf(policy, 'guest/third')).toEqual([])
  })
})

describe('a route that is attached to a Service of its own namespace and to its backend in another one', () => {
  const both = (kind: string, version: string, port: number): string =>
    document(
      `gateway.networking.k8s.io/${version}`,
      kind,
      'guest/both',
      `{ parentRefs: [${reference('guest/third')}, ${reference('shop/first')}], rules: [{ backendRefs: [${reference('shop/first')}] }] }`.replaceAll(
        'port: 80',
        `port: ${port}`,
      ),
    )

  it('sends no caller of the own Service to the other namespace without its consent, and is reported', () => {
    const fixture = fixtureOf(mesh(true) + both('HTTPRoute', 'v1', 80))
    for (const caller of ['guest/client-0', 'other/client-0', 'shop/client-0'])
      expect(upstreamsOf(fixture.document(caller), 'guest/third')).toEqual([])
    expect(upstreamsOf(fixture.document('guest/client-0'), 'shop/first')).toEqual(['shop/first|80'])
    const [problem, ...others] = fixture.catalog.problems()
    expect(problem).toMatchObject({
      code: 'OSM_SPEC_REF_NOT_PERMITTED',
      object: { kind: 'HTTPRoute', namespace: 'guest', name: 'both' },
      field: 'spec.rules[0].backendRefs[0]',
    })
    expect(problem?.message).toContain('for callers of Service guest/third its share is answered 500')
    expect(others).toEqual([])
    fixture.apply(objectsOf(grant('shop', 'guest')))
    expect(upstreamsOf(fixture.document('other/client-0'), 'guest/third')).toEqual(['shop/first|80'])
    expect(fixture.catalog.problems()).toEqual([])
  })

  it('copies no request of those callers there either', () => {
    const mirroring = both('HTTPRoute', 'v1', 80).replace(
      'rules: [{',
      `rules: [{ filters: [{ type: RequestMirror, requestMirror: { backendRef: ${reference('shop/first')} } }],`,
    )
    const { parts } = fixtureOf(mesh(true) + mirroring).document('other/client-0')
    expect(JSON.stringify(Object.values(parts).filter(({ id }) => id === 'guest/third|80'))).not.toContain('mirrors')
  })

  it('sends no connection there either', () => {
    const bytes = (name: string): string => served(name).replaceAll('name: http, port: 80', 'name: tcp, port: 90')
    const fixture = fixtureOf(
      [
        config(true),
        bytes('guest/third'),
        bytes('shop/first'),
        workload('other/client'),
        both('TCPRoute', 'v1alpha2', 90),
      ].join(''),
    )
    const part = Object.values(fixture.document('other/client-0').parts).find(({ id }) => id === 'guest/third|90')
    expect(part).toMatchObject({ kind: 'outbound', rules: { kind: 'tcp', targets: [], errorWeight: 1 } })
    expect(fixture.catalog.problems()).toMatchObject([{ code: 'OSM_SPEC_REF_NOT_PERMITTED' }])
  })

  it('does not show the own Service to callers of the other one', () => {
    const objects = [
      mesh(false),
      document('specs.smi-spec.io/v1alpha4', 'TCPRoute', 'shop/all', '{}'),
      target('shop/first', 'other/client'),
      both('HTTPRoute', 'v1', 80),
    ]
    const { parts } = fixtureOf(objects.join('')).document('other/client-0')
    const outbound = Object.values(parts).flatMap(({ kind, id }) => (kind === 'outbound' ? [id] : []))
    expect(outbound).toEqual(['shop/first|80'])
  })
})
