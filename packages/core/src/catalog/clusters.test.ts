import { describe, expect, it } from '@jest/globals'

import { MeshFixture, meshConfig, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { objectKey } from '../spec/index.js'

const service = (name: string) =>
  objectsOf(
    `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: { selector: { app: ${name} }, ports: [{ port: 80 }] }\n`,
  )
const client = objectsOf(`
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: client, namespace: shop }
spec: { serviceAccountName: client, command: [client] }
`)
const imported = (account: string) =>
  objectsOf(`
apiVersion: flomesh.io/v1alpha1
kind: ServiceImport
metadata: { name: store, namespace: shop }
spec:
  serviceAccountName: ${account}
  ports: [{ port: 80, endpoints: [{ clusterKey: r/z/g/two, target: { host: two, ip: 198.51.100.2, port: 8443, path: '' } }] }]
`)
const policy = (lbType: string) =>
  objectsOf(
    `apiVersion: flomesh.io/v1alpha1\nkind: GlobalTrafficPolicy\nmetadata: { name: store, namespace: shop }\nspec: { lbType: ${lbType} }\n`,
  )

describe('edits of what other clusters offer', () => {
  const fixture = new MeshFixture()
  fixture.apply([
    meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true } }),
    ...client,
    ...service('store'),
    ...service('other'),
    ...policy('ActiveActive'),
  ])
  const parts = () => Object.values(fixture.document('shop/client-0').parts)
  const endpoints = () => parts().find((part) => part.kind === 'endpoints' && part.id === 'shop/store|80')
  const upstream = () => parts().find((part) => part.kind === 'upstream' && part.id === 'shop/store|80')
  /** How many endpoints were computed for an edit. */
  const computed = (...args: Parameters<MeshFixture['apply']>): number => {
    fixture.catalog.resetCounters()
    fixture.apply(...args)
    return fixture.catalog.counters().get('endpoints-part')?.computed ?? 0
  }

  it('concern the service of their name, with the identity that they expect', () => {
    expect(upstream()).toBeUndefined()
    expect(computed(imported('far'))).toBe(1)
    expect(endpoints()).toMatchObject({ endpoints: [{ address: '198.51.100.2', priority: 0, cluster: 'r/z/g/two' }] })
    expect(upstream()).toMatchObject({ tls: { mode: 'mesh', principals: ['far.shop.cluster.local'] } })
    fixture.apply(imported('farther'))
    expect(upstream()).toMatchObject({ tls: { mode: 'mesh', principals: ['farther.shop.cluster.local'] } })
  })

  it('follow their policy, and leave nothing behind', () => {
    expect(computed(policy('FailOver'))).toBe(1)
    expect(endpoints()).toMatchObject({ endpoints: [{ priority: 1 }] })
    expect(computed(policy('FailOver'))).toBe(0)
    fixture.apply(policy('Locality'))
    expect(upstream()).toBeUndefined()
    fixture.apply(policy('FailOver'))
    fixture.apply([], imported('farther').map(objectKey))
    expect(upstream()).toBeUndefined()
  })
})
