import { describe, expect, it } from '@jest/globals'
import {
  checkPolicy,
  type OutboundPart,
  type Part,
  type ProxyPolicy,
  type UpstreamPart,
} from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey } from '../../../spec/index.js'

const object = (apiVersion: string, kind: string, metadata: object, spec: object): string =>
  `${JSON.stringify({ apiVersion, kind, metadata, spec })}\n---\n`

const workload = (name: string, app: string): string =>
  object(
    'standalone.openservicemesh.io/v1alpha1',
    'Workload',
    { name, namespace: 'shop', labels: { app } },
    { serviceAccountName: name, command: ['x'] },
  )

const annotation = (value: string): object => ({ annotations: { 'openservicemesh.io/pod-addresses': value } })

const service = (name: string, app: string, more: { readonly value?: string; readonly spec?: object } = {}): string =>
  object(
    'v1',
    'Service',
    { name, namespace: 'shop', ...(more.value === undefined ? {} : annotation(more.value)) },
    {
      clusterIP: `10.96.0.${name.length}`,
      selector: { app },
      ports: [
        { name: 'http', port: 80, targetPort: 8080 },
        { name: 'http-same', port: 81, targetPort: 8080 },
        { name: 'tcp-bytes', port: 9000 },
        { name: 'http-named', port: 7000, targetPort: 'web' },
      ],
      ...more.spec,
    },
  )

const namespace = (value: string): string => object('v1', 'Namespace', { name: 'shop', ...annotation(value) }, {})

const route = object(
  'gateway.networking.k8s.io/v1',
  'HTTPRoute',
  { name: 'web', namespace: 'shop' },
  {
    parentRefs: [{ group: '', kind: 'Service', name: 'web' }],
    rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example' } }] }],
  },
)

const mesh = [
  object(
    'config.openservicemesh.io/v1alpha2',
    'MeshConfig',
    { name: 'osm-mesh-config', namespace: 'osm-system' },
    { traffic: { enablePermissiveTrafficPolicyMode: true, interceptionMode: 'iptables' } },
  ),
  workload('client', 'client'),
  workload('web', 'web'),
  route,
].join('')

function fixtureOf(...texts: readonly string[]): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf([mesh, ...texts].join('')))
  return fixture
}

/** What the sidecar of the client knows of the workloads of a service at their own addresses. */
function podsOf(fixture: MeshFixture, name = 'web'): readonly Pick<OutboundPart, 'id' | 'addresses' | 'rules'>[] {
  const isMeant = (part: Part): part is OutboundPart =>
    part.kind === 'outbound' && part.id.startsWith(`shop/*.${name}|`)
  return Object.values(policyOf(fixture).parts)
    .filter(isMeant)
    .map(({ id, addresses, rules }) => ({ id, addresses, rules }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

function policyOf(fixture: MeshFixture): ProxyPolicy {
  const policy = fixture.document('shop/client-0')
  expect(checkPolicy(policy)).toEqual([])
  return policy
}

const addressesOf = (fixture: MeshFixture, name?: string): readonly string[] =>
  [...new Set(podsOf(fixture, name).flatMap(({ addresses }) => addresses))].sort()

describe('calls of the addresses of pods', () => {
  it('are of the mesh where the Service says so, past its routes, to that pod alone', () => {
    const fixture = fixtureOf(service('web', 'web', { value: 'enabled' }))
    const [address = ''] = addressesOf(fixture)
    expect(address).not.toBe('')
    const to = (upstream: string) => [{ upstream, weight: 100 }]
    expect(podsOf(fixture)).toEqual([
      {
        id: 'shop/*.web|8080',
        addresses: [address],
        rules: { kind: 'http', routes: [{ match: {}, targets: to('shop/*.web|8080'), timeoutMs: 0 }] },
      },
      { id: 'shop/*.web|9000', addresses: [address], rules: { kind: 'tcp', targets: to('shop/*.web|9000') } },
    ])
    const parts = Object.values(policyOf(fixture).parts)
    const upstream = parts.find(
      (part): part is UpstreamPart => part.kind === 'upstream' && part.id === 'shop/*.web|8080',
    )
    expect(upstream).toMatchObject({
      discovery: { kind: 'originalDestination' },
      tls: { mode: 'mesh', serverName: 'web.shop.svc.cluster.local', principals: ['web.shop.cluster.local'] },
    })
    expect(parts.filter(({ kind, id }) => kind === 'endpoints' && id.startsWith('shop/*.'))).toEqual([])
  })

  it.each([
    ['nothing says so', service('web', 'web'), false],
    ['the namespace says so', namespace('enabled') + service('web', 'web'), true],
    ['the Service says otherwise', namespace('enabled') + service('web', 'web', { value: 'disabled' }), false],
    ['the Service is headless', service('web', 'web', { value: 'enabled', spec: { clusterIP: 'None' } }), false],
  ])('if %s: the Service decides, then its namespace', (_title, text, expected) => {
    expect(podsOf(fixtureOf(text)).length > 0).toBe(expected)
  })

  it.each([
    ['the Service', service('web', 'web', { value: 'perhaps' })],
    ['its namespace', namespace('perhaps') + service('web', 'web')],
  ])('stay outside, with a problem, if %s has another word', (_title, text) => {
    const fixture = fixtureOf(text)
    expect(podsOf(fixture)).toEqual([])
    expect(fixture.catalog.problems()).toMatchObject([
      { code: 'OSM_SPEC_POD_ADDRESSES', object: { kind: 'Service', namespace: 'shop', name: 'web' } },
    ])
  })

  it('belong to one Service: a headless one, then the first by name, without a problem', () => {
    const fixture = fixtureOf(...['web', 'also'].map((name) => service(name, 'web', { value: 'enabled' })))
    expect(addressesOf(fixture, 'also')).toHaveLength(1)
    expect(addressesOf(fixture, 'web')).toEqual([])
    expect(fixture.catalog.problems()).toEqual([])
    const ports = [{ name: 'http', port: 8080 }]
    fixture.apply(objectsOf(service('pods', 'web', { spec: { clusterIP: 'None', ports } })))
    expect(podsOf(fixture, 'also').map(({ id, addresses }) => [id, addresses.length])).toEqual([
      ['shop/*.also|8080', 0],
      ['shop/*.also|9000', 1],
    ])
  })

  it('follow the pods, and are gone with the annotation', () => {
    const fixture = fixtureOf(service('web', 'web', { value: 'enabled' }))
    fixture.apply(objectsOf(workload('second', 'web')))
    expect(addressesOf(fixture)).toHaveLength(2)
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'second-0')])
    expect(addressesOf(fixture)).toHaveLength(1)
    fixture.apply(objectsOf(service('web', 'web')))
    expect(podsOf(fixture)).toEqual([])
  })
})
