import { describe, expect, it } from '@jest/globals'
import type { OutboundPart, Part, ProxyPolicy } from '@osm-ts/driver-api/policy'

import { largeMesh } from '../../test/generated/generated-mesh.js'
import { MeshFixture, uuidOf } from '../../test/catalog/mesh-fixture.js'
import type { ProxyKey } from '../identity/index.js'
import { makeObjectKey, type KindMap } from '../spec/index.js'
import { MAX_PORT_ROUTES } from './policy/problems/combinations.js'
import { PolicyDiffs } from './store/policy-diff.js'

const origin = { kind: 'file', file: 'routes.yaml', line: 1, column: 1 } as const
const services = 300
const namespaces = 10
const serviceName = (index: number): string => `s${String(index).padStart(4, '0')}`
const namespaceOf = (index: number): string => `n${index % namespaces}`

/** A route of a Service of the mesh to itself, for one prefix. */
function route(name: string, service: number, prefix: string): KindMap['HTTPRoute'] {
  const target = { group: '', kind: 'Service', name: serviceName(service) }
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: namespaceOf(service), labels: {}, annotations: {} },
    spec: {
      parentRefs: [{ ...target, port: 80 }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: prefix } }],
          backendRefs: [{ ...target, port: 80, weight: 1 }],
        },
      ],
    },
    origin,
  }
}

/** The proxy of the workload behind a Service. */
function proxyOf(service: number): ProxyKey {
  const [namespace, name] = [namespaceOf(service), serviceName(service)]
  // A key as instances have it.
  return `${uuidOf(`${namespace}/${name}-0`)}/${namespace}/${name}` as ProxyKey
}

function routesOf({ parts }: ProxyPolicy, service: number): readonly unknown[] {
  const id = `${namespaceOf(service)}/${serviceName(service)}|80`
  const isMeant = (part: Part): part is OutboundPart => part.kind === 'outbound' && part.id === id
  return Object.values(parts)
    .filter(isMeant)
    .flatMap(({ rules }) => (rules.kind === 'http' ? rules.routes : []))
}

function boundProblems({ catalog }: MeshFixture) {
  return catalog.problems().filter(({ code }) => code === 'OSM_SPEC_OBJECT_BOUND')
}

describe('1,000 HTTPRoutes on 300 Services', () => {
  it('have one part changed for each caller when one of them changes', () => {
    const fixture = new MeshFixture()
    fixture.apply(largeMesh({ services, namespaces, reach: 5 }))
    fixture.apply(
      Array.from({ length: 1000 }, (_, index) =>
        route(`r${index}`, index % services, `/part-${Math.floor(index / services)}`),
      ),
    )
    fixture.catalog.resetCounters()
    const changes = fixture.apply([route('r103', 103, '/moved')])
    expect(changes.map(({ proxy }) => proxy).toSorted()).toEqual([98, 99, 100, 101, 102].map(proxyOf).toSorted())
    const diffs = new PolicyDiffs()
    for (const { before, after } of changes) {
      if (after === undefined) throw new Error('a proxy is gone')
      const { added, removed } = diffs.between(before, after)
      const changed = [...added, ...removed].filter(({ kind }) => kind !== 'set' && kind !== 'proxy')
      expect(changed.map(({ kind, id }) => [kind, id])).toEqual([
        ['outbound', 'n3/s0103|80'],
        ['outbound', 'n3/s0103|80'],
      ])
    }
    const computed = (query: string): number => fixture.catalog.counters().get(query)?.computed ?? 0
    expect(['gateway-route-analysis', 'gateway-routes', 'outbound-part'].map(computed)).toEqual([1, 1, 1])
    expect(['inbound-part', 'upstream-part', 'endpoints-part'].map(computed)).toEqual([0, 0, 0])
  })
})

describe('10,000 HTTPRoutes in one namespace', () => {
  const fixture = new MeshFixture()
  fixture.apply(largeMesh({ services, namespaces, reach: 5 }))
  const noisy = 103
  const others = [...fixture.documents()].filter(([, policy]) => routesOf(policy, noisy).length === 0)
  const routes = Array.from({ length: 10_000 }, (_, index) =>
    route(`r${String(index).padStart(5, '0')}`, noisy, `/part-${index}`),
  )
  fixture.apply(routes)

  it('have as many of them applied as one port takes, and the others reported', () => {
    const bound = MAX_PORT_ROUTES
    expect(routesOf(fixture.document('n2/s0102-0'), noisy)).toHaveLength(bound)
    const reported = boundProblems(fixture).map(({ severity, object, field }) => [severity, object?.name, field])
    expect(reported.toSorted()).toEqual(
      routes.slice(bound).map(({ metadata }) => ['error', metadata.name, 'spec.rules']),
    )
  })

  it('change nothing for those who do not call the Service', () => {
    expect(others.length).toBeGreaterThan(200)
    const now = fixture.documents()
    for (const [name, { version }] of others) expect([name, now.get(name)?.version]).toEqual([name, version])
  })

  it('leave the routes of other namespaces to take effect', () => {
    fixture.apply([route('web', 104, '/web')])
    expect(routesOf(fixture.document('n3/s0103-0'), 104)).toMatchObject([
      { match: { path: { type: 'segments', value: '/web' } } },
    ])
  })

  it('leave room for the next ones when some are deleted', () => {
    fixture.apply(
      [],
      routes.slice(0, 9_000).map(({ metadata }) => makeObjectKey('HTTPRoute', metadata.namespace, metadata.name)),
    )
    expect(routesOf(fixture.document('n2/s0102-0'), noisy)).toHaveLength(1_000)
    expect(boundProblems(fixture)).toEqual([])
  })
})
