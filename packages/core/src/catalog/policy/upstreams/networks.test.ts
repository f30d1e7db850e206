import { describe, expect, it } from '@jest/globals'
import type { PolicyEndpoint } from '@osm-ts/driver-api/policy'

import { meshConfig, MeshFixture, objectsOf } from '../../../../test/catalog/mesh-fixture.js'
import { AddressRules } from '../../../endpoints/plugins/address-rules.js'
import { PluginEndpointsProvider } from '../../../endpoints/plugins/plugin-endpoints-provider.js'
import { makeObjectKey } from '../../../spec/index.js'

const gateway = { address: '203.0.113.5', port: 15_443 }

const service = (name: string, ports = '{ port: 80, targetPort: 8080 }', more = ''): string => `
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { ${more} selector: { app: ${name} }, ports: [${ports}] }
---`

const instance = (name: string, address: string, network?: unknown): string => `
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: WorkloadInstance
metadata: { name: ${name}, namespace: shop, labels: { app: store } }
spec:
  uuid: c0ffee00-0000-4000-8000-${name.replaceAll(/[^0-9]/g, '').padStart(12, '0')}
  workload: store
  serviceAccountName: store
  sidecarClass: envoy
  mode: transparent
  hostname: ${name}
  addresses: [${address}]
  ports: [{ port: 8080 }, { port: 9090 }]
  ready: true
  createdAt: '2026-01-01T00:00:00Z'
  ${network === undefined ? '' : `network: ${JSON.stringify(network)}`}
---`

const pod = instance('pod-1', '10.0.0.1')
const remote = [
  instance('rack-2', '192.168.0.2', { name: 'onprem', gateway }),
  instance('rack-3', '192.168.0.3', { name: 'onprem', gateway }),
]
/** At the address of another machine, in another network. */
const elsewhere = instance('lab-4', '192.168.0.2', { name: 'lab', gateway: { address: '203.0.113.9' } })

function mesh(texts: readonly string[], traffic = {}): MeshFixture {
  const fixture = new MeshFixture()
  const settings = { enablePermissiveTrafficPolicyMode: true, ...traffic }
  fixture.apply([...objectsOf(texts.join('\n')), meshConfig({ traffic: settings })])
  return fixture
}

function endpointsOf(fixture: MeshFixture, from: string, id = 'shop/store|8080'): readonly PolicyEndpoint[] {
  return Object.values(fixture.document(from).parts).flatMap((part) =>
    part.kind === 'endpoints' && part.id === id ? part.endpoints : [],
  )
}

/** Address, port, network and weight of the endpoints of the store. */
function placesOf(fixture: MeshFixture, from: string, id?: string): readonly string[] {
  return endpointsOf(fixture, from, id).map(({ address, port, cluster, weight }) =>
    [address, port, ...(cluster === '' ? [] : [cluster]), weight].join(' '),
  )
}

function problemsOf({ catalog }: MeshFixture): readonly string[] {
  return catalog.problems().flatMap(({ code, message }) => (code === 'OSM_POLICY_NETWORK_GATEWAY' ? [message] : []))
}

describe('endpoints in other networks', () => {
  it('are reached through the gateway of their network, which has the weights of all behind it', () => {
    const fixture = mesh([service('store'), pod, ...remote, elsewhere])
    expect(placesOf(fixture, 'shop/pod-1')).toEqual([
      '10.0.0.1 8080 100',
      '203.0.113.5 15443 onprem 200',
      '203.0.113.9 80 lab 100',
    ])
    const [, behind] = endpointsOf(fixture, 'shop/pod-1')
    expect(behind).toMatchObject({ identity: 'store.shop', class: 'envoy' })
    expect(behind).not.toHaveProperty('tls')
    expect(problemsOf(fixture)).toEqual([])
  })

  it('reach each other by their own addresses, and the mesh by the gateway that MeshConfig names', () => {
    const texts = [service('store'), pod, instance('pod-5', '10.0.0.5'), ...remote, elsewhere]
    expect(placesOf(mesh(texts), 'shop/rack-2')).toEqual([
      '10.0.0.1 8080 100',
      '10.0.0.5 8080 100',
      '192.168.0.2 8080 100',
      '192.168.0.3 8080 100',
      '203.0.113.9 80 lab 100',
    ])
    const fixture = mesh(texts, { networkGateway: { address: '10.0.0.99' } })
    expect(placesOf(fixture, 'shop/rack-2')).toEqual([
      '10.0.0.99 80 mesh 200',
      '192.168.0.2 8080 100',
      '192.168.0.3 8080 100',
      '203.0.113.9 80 lab 100',
    ])
    expect(placesOf(fixture, 'shop/pod-1')).toContain('10.0.0.5 8080 100')
  })

  it('come and go for callers of each network', () => {
    const fixture = mesh([service('store'), pod, ...remote])
    fixture.apply([], [makeObjectKey('WorkloadInstance', 'shop', 'rack-3')])
    expect(placesOf(fixture, 'shop/pod-1')).toEqual(['10.0.0.1 8080 100', '203.0.113.5 15443 onprem 100'])
    expect(placesOf(fixture, 'shop/rack-2')).toEqual(['10.0.0.1 8080 100', '192.168.0.2 8080 100'])
    fixture.apply(objectsOf(instance('rack-2', '192.168.0.2')))
    expect(placesOf(fixture, 'shop/rack-2')).toEqual(placesOf(fixture, 'shop/pod-1'))
  })

  it('get nothing through a gateway with one port if the Service leads to several, and say so', () => {
    const ports = '{ name: a, port: 80, targetPort: 8080 }, { name: b, port: 90, targetPort: 9090 }'
    const fixture = mesh([service('store', ports), pod, ...remote, elsewhere])
    expect(placesOf(fixture, 'shop/pod-1')).toEqual(['10.0.0.1 8080 100', '203.0.113.9 80 lab 100'])
    expect(placesOf(fixture, 'shop/pod-1', 'shop/store|9090')).toEqual(['10.0.0.1 9090 100', '203.0.113.9 90 lab 100'])
    expect(problemsOf(fixture)).toEqual([expect.stringMatching(/192\.168\.0\.2, 192\.168\.0\.3,.*leave out the port/)])
  })

  it('are not instances of a headless Service by name, since a gateway is told the Service alone', () => {
    const fixture = mesh([service('store', '{ port: 80, targetPort: 8080 }', 'clusterIP: None,'), pod, ...remote])
    expect(placesOf(fixture, 'shop/pod-1', 'shop/pod-1.store|8080')).toEqual(['10.0.0.1 8080 100'])
    expect(placesOf(fixture, 'shop/pod-1', 'shop/rack-2.store|8080')).toEqual([])
    expect(placesOf(fixture, 'shop/rack-3', 'shop/rack-2.store|8080')).toEqual(['192.168.0.2 8080 100'])
    expect(placesOf(fixture, 'shop/pod-1')).toEqual(['10.0.0.1 8080 100', '203.0.113.5 15443 onprem 200'])
  })

  it('have parts of their own for each network, so that proxies of one network share them', () => {
    const fixture = mesh([service('store'), pod, instance('pod-5', '10.0.0.5'), ...remote])
    const setOf = (name: string): string | undefined => fixture.document(name).proxy.endpoints
    expect(setOf('shop/pod-1')).toBe(setOf('shop/pod-5'))
    expect(setOf('shop/rack-2')).toBe(setOf('shop/rack-3'))
    expect(setOf('shop/rack-2')).not.toBe(setOf('shop/pod-1'))
  })

  it('without a sidecar get no plaintext through a gateway, and say so', () => {
    const instance = { id: 'bare', addresses: ['192.168.0.7'], serviceAccount: 'store', ready: true }
    const provider = new PluginEndpointsProvider({
      id: 'file',
      rules: new AddressRules({ allowLoopback: false, refused: [] }),
      current: () => fixture.snapshot,
      subscribe: () => () => undefined,
      now: () => 0,
    })
    const fixture = new MeshFixture({ moreProviders: [provider] })
    const publish = (network: unknown) =>
      provider.publish({
        services: [{ service: { namespace: 'shop', name: 'store' }, instances: [{ ...instance, network }] }],
      })
    publish({ name: 'onprem', gateway: { address: '203.0.113.5' } })
    fixture.apply([
      ...objectsOf([service('store'), pod].join('\n')),
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, plaintextNamespaces: ['shop'] } }),
    ])
    expect(placesOf(fixture, 'shop/pod-1')).toEqual(['10.0.0.1 8080 100'])
    expect(problemsOf(fixture)).toEqual([expect.stringMatching(/192\.168\.0\.7,.*have no sidecar/)])
  })
})
