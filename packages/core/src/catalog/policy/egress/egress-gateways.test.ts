import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import type { ClientGateway } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey, type KindMap } from '../../../spec/index.js'

const text = readFileSync(new URL('../../testdata/in/egress-gateway.yaml', import.meta.url), 'utf8')

function mesh(): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text))
  return fixture
}

/** Gateways of an instance by destination. */
function gateways(fixture: MeshFixture, instance: string): Readonly<Record<string, ClientGateway['targets']>> {
  const { proxy, parts } = fixture.document(instance)
  const rules = proxy.clientRules === undefined ? undefined : parts[proxy.clientRules]
  if (rules?.kind !== 'clientRules') return {}
  return Object.fromEntries(rules.gateways.map(({ egress, targets }) => [egress, targets]))
}

function computed({ catalog }: MeshFixture, query: string): number {
  return catalog.counters().get(query)?.computed ?? 0
}

function ways({ snapshot }: MeshFixture, name: string): KindMap['EgressGateway'] {
  return snapshot.get('EgressGateway', 'gateways', name) as KindMap['EgressGateway']
}

const east = { upstream: 'egress-gateway|gateways/east|8080', weight: 1 }
const west = { upstream: 'egress-gateway|gateways/west|1080', weight: 100 }

describe('policies and EgressGateway objects', () => {
  it('are computed again for the accounts whose traffic takes other gateways, and for no others', () => {
    const fixture = mesh()
    const rules = ways(fixture, 'rules')
    fixture.catalog.resetCounters()
    const spec = { ...rules.spec, rules: (rules.spec.rules ?? []).slice(0, 2) }
    const changes = fixture.apply([{ ...rules, spec }])
    expect(changes).toHaveLength(1)
    expect(computed(fixture, 'proxy-part')).toBe(1)
    for (const query of ['outbound-part', 'upstream-part', 'endpoints-part', 'namespace-set', 'gateway-service'])
      expect([query, computed(fixture, query)]).toEqual([query, 0])
    // Rules of the object that came second are in force now.
    expect(gateways(fixture, 'shop/buyer-0')['http|socks.example.com:80']).toEqual([{ ...east, weight: 100 }])
    expect(gateways(fixture, 'shop/buyer-0')['http|closed.example.com:80']).toBeUndefined()
  })

  it('are not computed again by edits that say the same', () => {
    const fixture = mesh()
    const rules = ways(fixture, 'rules')
    fixture.catalog.resetCounters()
    const global = [{ service: 'west', namespace: 'gateways', weight: 100 }]
    expect(fixture.apply([{ ...rules, spec: { ...rules.spec, global } }])).toEqual([])
    expect(computed(fixture, 'proxy-part')).toBe(0)
  })

  it('keep a way closed while its gateways have no workload, and open it once they have', () => {
    const fixture = mesh()
    const instance = fixture.snapshot.get('WorkloadInstance', 'gateways', 'east-0') as KindMap['WorkloadInstance']
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'gateways', 'east-0')])
    expect(gateways(fixture, 'shop/buyer-0')['http|other.example.com:80']).toEqual([])
    expect(fixture.catalog.problems()).toContainEqual(
      expect.objectContaining({
        code: 'OSM_POLICY_EGRESS_GATEWAY',
        field: 'spec.rules[1].egressGateways[0].service',
        object: { kind: 'EgressGateway', namespace: 'gateways', name: 'rules' },
      }),
    )
    fixture.apply([instance])
    expect(gateways(fixture, 'shop/buyer-0')['http|other.example.com:80']).toEqual([east])
  })

  it('send all the rest through the global gateways, without an Egress only if global egress is on', () => {
    const fixture = mesh()
    expect(gateways(fixture, 'shop/thief-0')).toEqual({ '*': [west] })
    const config = fixture.snapshot.get('MeshConfig', 'osm-system', 'osm-mesh-config') as KindMap['MeshConfig']
    fixture.apply([{ ...config, spec: { ...config.spec, traffic: { ...config.spec.traffic, enableEgress: false } } }])
    expect(gateways(fixture, 'shop/thief-0')).toEqual({})
    expect(gateways(fixture, 'shop/buyer-0')['*']).toEqual([west])
  })

  it('let gateways leave directly, as long as traffic leaves by them', () => {
    const fixture = mesh()
    expect(gateways(fixture, 'gateways/east-0')).toEqual({})
    const rules = ways(fixture, 'rules')
    const global = rules.spec.global ?? []
    fixture.apply([{ ...rules, spec: { global } }], [makeObjectKey('EgressGateway', 'gateways', 'second')])
    expect(gateways(fixture, 'gateways/east-0')).toEqual({ '*': [west] })
    // The object of the same gateways that comes second is not in force.
    const object = { ...ways(fixture, 'rules'), spec: { global: [{ service: 'east', namespace: 'gateways' }] } }
    fixture.apply([{ ...object, metadata: { ...object.metadata, name: 'second' } }])
    expect(gateways(fixture, 'gateways/east-0')).toEqual({ '*': [west] })
  })

  it('request nothing of gateways once the objects are gone', () => {
    const fixture = mesh()
    const names = ['rules', 'second'].map((name) => makeObjectKey('EgressGateway', 'gateways', name))
    fixture.apply([], names)
    const { proxy, parts } = fixture.document('shop/buyer-0')
    expect(proxy.clientRules).toBeUndefined()
    expect(Object.values(parts).filter(({ id }) => id.includes('gateway'))).toEqual([])
    expect(fixture.catalog.problems()).toEqual([])
  })
})
