import { describe, expect, it } from '@jest/globals'
import { PLUGIN_TYPE, type PluginValue } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { makeObjectKey } from '../../../spec/index.js'

const workload = (name: string, namespace: string, sidecarClass: string): string => `
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }
spec: { serviceAccountName: ${name}, command: [${name}], sidecarClass: ${sidecarClass} }
---`

const plugin = (name: string, priority: number): string => `
apiVersion: plugin.flomesh.io/v1alpha1
kind: Plugin
metadata: { name: ${name} }
spec: { priority: ${priority}, pipyscript: "var ${name} = 1" }
---`

const chain = (name: string, namespace: string, spec: string): string => `
apiVersion: plugin.flomesh.io/v1alpha1
kind: PluginChain
metadata: { name: ${name}, namespace: ${namespace} }
spec: ${spec}
---`

const config = (name: string, word: string): string => `
apiVersion: plugin.flomesh.io/v1alpha1
kind: PluginConfig
metadata: { name: ${name}, namespace: shop }
spec: { plugin: low, destinationRefs: [{ kind: Service, name: store, namespace: shop }], config: { word: ${word} } }
---`

const meshConfig = (enabled: boolean): string => `
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: { name: osm-mesh-config, namespace: osm-system }
spec: { featureFlags: { enablePluginPolicy: ${enabled} } }
---`

const objects = [
  workload('store', 'shop', 'pipy'),
  workload('desk', 'shop', 'envoy'),
  workload('vault', 'bank', 'pipy'),
  'apiVersion: v1\nkind: Namespace\nmetadata: { name: bank, labels: { kind: money } }\n---',
  plugin('low', 1),
  plugin('high', 9),
  plugin('also_high', 9).replace('metadata: { name: also_high }', 'metadata: { name: also-high }'),
  chain(
    'all',
    'osm-system',
    '{ chains: [{ name: outbound-http, plugins: [low, missing] }, { name: inbound-http, plugins: [low, high] }], selectors: {} }',
  ),
  chain(
    'some',
    'osm-system',
    '{ chains: [{ name: inbound-tcp, plugins: [also-high] }], selectors: { podSelector: { matchExpressions: [{ key: app, operator: In, values: [vault, desk] }] }, namespaceSelector: { matchLabels: { kind: money } } } }',
  ),
  config('a', 'first'),
  config('b', 'second'),
]

function mesh(enabled = true): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf([...objects, meshConfig(enabled)].join('\n')))
  return fixture
}

function plugins(fixture: MeshFixture, name: string): readonly (PluginValue & { readonly class: string })[] {
  const { proxy, parts } = fixture.document(name)
  return proxy.extensions.map((hash) => {
    const part = parts[hash]
    if (part?.kind !== 'extension' || part.type !== PLUGIN_TYPE) throw new Error(`${hash} is not a plugin`)
    return { ...(part.value as unknown as PluginValue), class: part.class }
  })
}

describe('policies and plugins', () => {
  it('hold those of every chain that selects the workload, by priority and name', () => {
    const fixture = mesh()
    const placed = (name: string) => plugins(fixture, name).map(({ plugin: of, chains }) => [of, ...chains])
    expect(placed('shop/store-0')).toEqual([
      ['high', 'inbound-http'],
      ['low', 'inbound-http', 'outbound-http'],
    ])
    expect(placed('bank/vault-0')).toEqual([
      ['also-high', 'inbound-tcp'],
      ['high', 'inbound-http'],
      ['low', 'inbound-http', 'outbound-http'],
    ])
  })

  it('hold the script, and the first configuration for each service', () => {
    expect(plugins(mesh(), 'shop/store-0')[1]).toEqual({
      plugin: 'low',
      priority: 1,
      chains: ['inbound-http', 'outbound-http'],
      script: 'var low = 1',
      configs: [{ service: 'shop/store', config: { word: 'first' } }],
      class: 'pipy',
    })
  })

  it('are for the class of the proxy, whichever that is, so that one without plugins can say so', () => {
    expect(plugins(mesh(), 'shop/desk-0').map((each) => each.class)).toEqual(['envoy', 'envoy'])
  })

  it('hold none where the mesh has none', () => {
    expect(plugins(mesh(false), 'shop/store-0')).toEqual([])
  })

  it('follow when scripts, chains and configurations change', () => {
    const fixture = mesh()
    fixture.apply(objectsOf(plugin('low', 10)))
    expect(plugins(fixture, 'shop/store-0').map((each) => each.plugin)).toEqual(['low', 'high'])
    fixture.apply([], [makeObjectKey('PluginConfig', 'shop', 'a')])
    expect(plugins(fixture, 'shop/store-0')[0]?.configs).toEqual([
      { service: 'shop/store', config: { word: 'second' } },
    ])
    fixture.apply(objectsOf('apiVersion: v1\nkind: Namespace\nmetadata: { name: bank }'))
    expect(plugins(fixture, 'bank/vault-0').map((each) => each.plugin)).toEqual(['low', 'high'])
    fixture.apply([], [makeObjectKey('PluginChain', 'osm-system', 'all')])
    expect(plugins(fixture, 'shop/store-0')).toEqual([])
  })
})
