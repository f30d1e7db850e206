import { describe, expect, it } from '@jest/globals'

import { MeshFixture, meshConfig, objectsOf } from '../../test/catalog/mesh-fixture.js'

const workload = (name: string, zone: string) =>
  objectsOf(`
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: ${name}, namespace: shop, labels: { app: ${name}, topology.kubernetes.io/zone: ${zone} } }
spec: { serviceAccountName: ${name}, command: [${name}] }
`)
const service = (name: string, more = '') =>
  objectsOf(
    `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { app: ${name} }, ports: [{ port: 80 }]${more} }\n`,
  )

describe('edits of localities', () => {
  const fixture = new MeshFixture()
  fixture.apply([
    meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } }),
    ...['store', 'other'].flatMap((name) => [...workload(name, 'a'), ...service(name)]),
  ])
  const endpoints = (id: string) =>
    Object.values(fixture.document('shop/other-0').parts).find((part) => part.kind === 'endpoints' && part.id === id)
  /** How many endpoints were computed for an edit. */
  const computed = (...args: Parameters<MeshFixture['apply']>): number => {
    fixture.catalog.resetCounters()
    fixture.apply(...args)
    return fixture.catalog.counters().get('endpoints-part')?.computed ?? 0
  }

  it('change the endpoints of the service that has a preference, and no other', () => {
    expect(endpoints('shop/store|80')).not.toHaveProperty('preferClose')
    expect(computed(service('store', ', trafficDistribution: PreferClose'))).toBe(1)
    expect(endpoints('shop/store|80')).toMatchObject({ preferClose: true })
    expect(endpoints('shop/other|80')).not.toHaveProperty('preferClose')
  })

  it('are known to proxies and to their clients', () => {
    const place = { region: '', zone: 'a', subZone: '' }
    expect(fixture.document('shop/other-0').proxy.locality).toEqual(place)
    expect(endpoints('shop/store|80')).toMatchObject({ endpoints: [{ locality: place }] })
  })
})
