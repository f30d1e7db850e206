import { describe, expect, it } from '@jest/globals'
import type { PartRef } from '@osm-ts/driver-api/policy'

import { largeMesh } from '../../test/generated/generated-mesh.js'
import { MeshFixture, meshConfig, uuidOf } from '../../test/catalog/mesh-fixture.js'
import type { ProxyKey } from '../identity/index.js'
import { type KindMap, objectKey } from '../spec/index.js'
import { PolicyDiffs } from './store/policy-diff.js'

const REACH = 5
const size = { services: 1000, namespaces: 10, reach: REACH }

/** Service 500, which workloads of services 495 to 499 may call. */
const called = { namespace: 'n0', name: 's0500' }
const callers = [495, 496, 497, 498, 499]
  .map((index) => `${uuidOf(`n${index % 10}/s0${index}-0`)}/n${index % 10}/s0${index}`)
  .sort()

function instance(fixture: MeshFixture): KindMap['WorkloadInstance'] {
  const found = fixture.snapshot.get('WorkloadInstance', called.namespace, `${called.name}-0`)
  if (found === undefined) throw new Error('the mesh lacks the instance')
  return found
}

const diffs = new PolicyDiffs()

/** Everything that a policy refers to. */
function refsOf({ catalog }: MeshFixture, proxy: ProxyKey): readonly PartRef[] {
  const policy = catalog.policyFor(proxy)
  return policy === undefined ? [] : diffs.between(undefined, policy).added
}

describe('a mesh of 1,000 services', () => {
  const fixture = new MeshFixture()
  fixture.apply(largeMesh(size))

  it('gives every workload a policy of what it may call and no more', () => {
    expect(fixture.catalog.listProxies()).toHaveLength(1000)
    const refs = refsOf(fixture, callers[0] as ProxyKey)
    expect(refs.filter(({ kind }) => kind === 'outbound')).toHaveLength(REACH)
    expect(refs.filter(({ kind }) => kind === 'endpoints')).toHaveLength(REACH)
  })

  it('computes the endpoints of one service, and no policy, when an endpoint comes or goes', () => {
    const heard: string[] = []
    const end = fixture.catalog.onEndpoints((changed) => heard.push(...changed.map(({ after }) => after.part.id)))
    for (const ready of [false, true]) {
      const before = instance(fixture)
      const documents = callers.map((proxy) => fixture.catalog.policyDocument(proxy as ProxyKey)?.version)
      fixture.catalog.resetCounters()
      expect(fixture.apply([{ ...before, spec: { ...before.spec, ready } }])).toEqual([])
      const computed = (name: string): number => fixture.catalog.counters().get(name)?.computed ?? 0
      expect(computed('endpoints-part')).toBe(1)
      // Documents hold them all the same.
      for (const [index, proxy] of callers.entries())
        expect(fixture.catalog.policyDocument(proxy as ProxyKey)?.version).not.toBe(documents[index])
      for (const query of ['proxy-part', 'proxy-frame', 'root-set', 'namespace-set', 'endpoints-frame'])
        expect([query, computed(query)]).toEqual([query, 0])
      expect(computed('inbound-part')).toBe(0)
      expect(computed('outbound-part')).toBe(0)
      expect(computed('upstream-part')).toBe(0)
    }
    end()
    expect(heard).toEqual(['n0/s0500|8080', 'n0/s0500|8080'])
  })

  it('looks at no policy of a caller when an endpoint behind a port with a name comes or goes', () => {
    const service = fixture.snapshot.get('Service', called.namespace, called.name)
    const original = instance(fixture)
    const [port] = original.spec.ports
    if (service === undefined || port === undefined) throw new Error('the mesh lacks the service, or its port')
    const named = { ...port, name: 'main' }
    const first = { ...original, spec: { ...original.spec, ports: [named] } }
    const ports = service.spec.ports.map((each) => ({ ...each, targetPort: 'main' }))
    const second = {
      ...first,
      metadata: { ...first.metadata, name: `${called.name}-1` },
      spec: { ...first.spec, uuid: uuidOf('second'), addresses: ['10.9.9.9'] },
    }
    fixture.apply([{ ...service, spec: { ...service.spec, ports } }, first, second])
    for (const ready of [false, true]) {
      fixture.catalog.resetCounters()
      expect(fixture.apply([{ ...second, spec: { ...second.spec, ready } }])).toEqual([])
      const counters = fixture.catalog.counters()
      expect(counters.get('endpoints-part')?.computed).toBe(1)
      for (const query of [
        'port-target',
        'upstream-part',
        'outbound-part',
        'namespace-set',
        'root-set',
        'called-by-account',
      ])
        expect([query, counters.get(query)]).toEqual([query, undefined])
      // That of the proxy itself.
      expect(counters.get('proxy-part')).toEqual({ computed: 0, changed: 0, verified: 1 })
    }
    // Workloads may give a name different numbers: then policies do change.
    const other = { ...second, spec: { ...second.spec, ports: [{ ...named, port: port.port - 1 }] } }
    expect(fixture.apply([other]).length).toBeGreaterThanOrEqual(REACH)
    fixture.apply([original, service], [objectKey(second)])
  })

  it('computes nothing for a change that says nothing new', () => {
    const before = instance(fixture)
    fixture.catalog.resetCounters()
    expect(fixture.apply([{ ...before, origin: { kind: 'file', file: 'moved.yaml', line: 7, column: 1 } }])).toEqual([])
    expect([...fixture.catalog.counters()]).toEqual([])
  })

  it('computes the one served port and no proxy of a caller when a rule changes', () => {
    const target = fixture.snapshot.get('TrafficTarget', called.namespace, called.name)
    if (target === undefined) throw new Error('the mesh lacks the TrafficTarget')
    const narrower = {
      ...target,
      spec: { ...target.spec, rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['read'] }] },
    }
    fixture.catalog.resetCounters()
    // The group has that one match only: the same access in other words.
    expect(fixture.apply([narrower])).toEqual([])
    expect(fixture.catalog.counters().get('inbound-part')?.computed ?? 0).toBe(0)
    fixture.catalog.resetCounters()
    const fewer = { ...target, spec: { ...target.spec, sources: target.spec.sources.slice(1) } }
    const changed = fixture.apply([fewer]).map(({ proxy }) => proxy)
    // The called workload lets one caller less in, and that caller loses sight of it.
    expect(changed).toHaveLength(2)
    expect(fixture.catalog.counters().get('inbound-part')?.computed).toBe(1)
    fixture.apply([target])
  })

  it('follows what an account opens once for all of its callers, and not when only rules change', () => {
    const { namespace, name } = called
    const service = fixture.snapshot.get('Service', namespace, name)
    const target = fixture.snapshot.get('TrafficTarget', namespace, name)
    const group = fixture.snapshot.get('HTTPRouteGroup', namespace, 'routes')
    if (service === undefined || target === undefined || group === undefined)
      throw new Error('the mesh lacks an object')
    const computed = (query: string): number => fixture.catalog.counters().get(query)?.computed ?? 0
    const alias = { ...service, metadata: { ...service.metadata, name: 'alias' } }
    fixture.catalog.resetCounters()
    expect(fixture.apply([alias]).length).toBeGreaterThanOrEqual(REACH)
    expect([computed('opened-by-account'), computed('smi-reach')]).toEqual([1, REACH])
    fixture.apply([], [objectKey(alias)])

    const more: KindMap['HTTPRouteGroup'] = {
      ...group,
      metadata: { ...group.metadata, name: 'more' },
      spec: { matches: [{ name: 'put', methods: ['PUT'] }] },
    }
    const rules = [...target.spec.rules, { kind: 'HTTPRouteGroup' as const, name: 'more' }]
    fixture.catalog.resetCounters()
    fixture.apply([more, { ...target, spec: { ...target.spec, rules } }])
    expect([computed('target-analysis'), computed('opening-target')]).toEqual([1, 1])
    expect([computed('destinations-from-account'), computed('smi-reach')]).toEqual([0, 0])
    fixture.apply([target], [objectKey(more)])
  })

  it('looks for problems again only in the groups of what changed, a step for each group', () => {
    const { catalog } = fixture
    const steps = (): number => [...catalog.problemsInSteps()].length
    const groups = steps()
    const target = fixture.snapshot.get('TrafficTarget', called.namespace, called.name)
    if (target === undefined) throw new Error('the mesh lacks the TrafficTarget')
    const wrong = { ...target, spec: { ...target.spec, rules: [{ kind: 'HTTPRouteGroup' as const, name: 'no-such' }] } }
    for (const [object, problems] of [
      [wrong, 1],
      [target, 0],
    ] as const) {
      fixture.apply([object])
      catalog.resetCounters()
      expect(catalog.problems().filter(({ object: { name } = {} }) => name === called.name)).toHaveLength(problems)
      expect(catalog.counters().get('group-problems')?.computed).toBe(1)
    }
    // Its name comes into one group; all others have the names that they had.
    fixture.apply([{ ...target, metadata: { ...target.metadata, name: 'one-more' } }])
    catalog.resetCounters()
    expect(steps()).toBe(groups)
    expect(catalog.counters().get('group-problems')?.computed).toBe(1)
    expect(catalog.counters().get('group-names')).toMatchObject({ changed: 1 })
    // The objects of a kind are spread over many steps.
    expect(groups).toBeGreaterThan(300)
  })

  it('shares one set for each namespace among all proxies in permissive mode', () => {
    fixture.apply([meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } })])
    const sets = new Set<string>()
    for (const proxy of fixture.catalog.listProxies())
      for (const ref of refsOf(fixture, proxy)) if (ref.kind === 'set') sets.add(ref.hash)
    // For each of three kinds a set for each namespace; roots: one for endpoints, one for upstreams, one for outbound by namespace of the reader.
    expect(sets.size).toBe(3 * size.namespaces + 2 + size.namespaces)
    fixture.catalog.resetCounters()
    const before = instance(fixture)
    expect(fixture.apply([{ ...before, spec: { ...before.spec, ready: false } }])).toEqual([])
    expect(fixture.catalog.counters().get('namespace-set')?.computed ?? 0).toBe(0)
    expect(fixture.catalog.counters().get('endpoints-part')?.computed).toBe(1)
  })
})
