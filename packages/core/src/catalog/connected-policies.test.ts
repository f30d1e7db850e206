import { readFileSync } from 'node:fs'

import { beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { MeshFixture, objectsOf, proxyRef } from '../../test/catalog/mesh-fixture.js'
import { anyKey, anyMesh, anyObject } from '../../test/catalog/random-mesh.js'
import { identityOfProxyKey, proxyKeyOfInstance, type ProxyKey } from '../identity/index.js'
import { isOfKind, type KindMap } from '../spec/index.js'

type Instance = KindMap['WorkloadInstance']

const TWO_WORKLOADS = `apiVersion: v1
kind: ServiceAccount
metadata: { name: one, namespace: shop }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: two, namespace: shop }
---
apiVersion: v1
kind: Service
metadata: { name: one, namespace: shop }
spec: { selector: { app: one }, ports: [{ name: http, port: 80, targetPort: 8080, appProtocol: http }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: one, namespace: shop, labels: { app: one } }
spec: { serviceAccountName: one, command: [server], ports: [{ port: 8080 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: two, namespace: shop, labels: { app: two } }
spec: { serviceAccountName: two, command: [client] }
`

const edits = fc.oneof(
  fc.record({ upserts: fc.array(anyObject, { minLength: 1, maxLength: 3 }), deletes: fc.constant([]) }),
  fc.record({ upserts: fc.constant([]), deletes: fc.array(anyKey, { minLength: 1, maxLength: 3 }) }),
)
/** Connects, disconnects or releases the proxy at a place of the list, if there is one. */
const connection = fc.record({
  what: fc.constantFrom('connect' as const, 'connect' as const, 'disconnect' as const, 'release' as const),
  place: fc.nat({ max: 7 }),
})

describe('a catalog that keeps the policies of connected proxies', () => {
  it('gives each of them the policy that a catalog of all workloads has, after random edits and connections', () => {
    const step = fc.tuple(edits, fc.array(connection, { maxLength: 3 }), fc.boolean())
    fc.assert(
      fc.property(anyMesh, fc.array(step, { minLength: 1, maxLength: 6 }), (mesh, steps) => {
        const [all, connected] = [new MeshFixture(), new MeshFixture({ policyScope: 'connectedProxies' })]
        all.apply(mesh)
        connected.apply(mesh)
        const wanted = new Set<ProxyKey>()
        for (const [{ upserts, deletes }, connections, connectsWhileDue] of steps) {
          const connect = (): void => {
            for (const each of connections) change(connected, wanted, all.catalog.listProxies(), each)
          }
          const before = new Map([...wanted].map((proxy) => [proxy, connected.catalog.policyFor(proxy)?.hash]))
          all.apply(upserts, deletes)
          connected.take(upserts, deletes)
          if (connectsWhileDue) connect()
          const changed = new Set(connected.catalog.settle().map(({ proxy }) => proxy))
          if (!connectsWhileDue) connect()
          expect(connected.catalog.listProxies()).toEqual(all.catalog.listProxies())
          for (const proxy of all.catalog.listProxies()) {
            const isWanted = wanted.has(proxy)
            const expected = all.catalog.policyFor(proxy)
            expect(connected.catalog.policyFor(proxy)?.hash).toBe(isWanted ? expected?.hash : undefined)
            // The same with its endpoints, and for people also where no one wants it.
            expect(connected.catalog.policyDocument(proxy)).toEqual(all.catalog.policyDocument(proxy))
            if (before.has(proxy) && isWanted)
              expect(changed.has(proxy) || before.get(proxy) === expected?.hash).toBe(true)
          }
        }
        for (const proxy of wanted) change(connected, wanted, [proxy], { what: 'release', place: 0 })
        expect(connected.catalog.parts.size).toBe(0)
      }),
      { numRuns: 30 },
    )
  })

  describe('of two workloads', () => {
    let fixture: MeshFixture
    let computed: () => number
    const objects = objectsOf(TWO_WORKLOADS)
    const [first, second] = objects.filter((object) => isOfKind(object, 'WorkloadInstance')) as [Instance, Instance]
    const [one, two] = [proxyKeyOfInstance(first), proxyKeyOfInstance(second)]

    beforeEach(() => {
      fixture = new MeshFixture({ policyScope: 'connectedProxies' })
      computed = () => fixture.catalog.counters().get('proxy-part')?.computed ?? 0
      fixture.apply(objects)
    })

    it('is ready before any policy is computed', () => {
      expect([fixture.catalog.ready, computed()]).toEqual([true, 0])
      expect(fixture.catalog.listProxies()).toEqual([one, two].sort())
    })

    it('computes the policy of a proxy when it connects, and no other', () => {
      fixture.catalog.registerProxy(proxyRef(one, 'a'))
      expect(computed()).toBe(1)
      expect(fixture.catalog.policyFor(one)?.part.id).toBe(identityOfProxyKey(one).uuid)
      expect(fixture.catalog.policyFor(two)).toBeUndefined()
    })

    it('has a policy for a proxy whose workload comes after it has connected', () => {
      const starting = new MeshFixture({ policyScope: 'connectedProxies' })
      starting.apply(objects.filter((object) => object !== second))
      starting.catalog.registerProxy(proxyRef(two, 'a'))
      expect(starting.catalog.policyFor(two)).toBeUndefined()
      expect(starting.apply([second]).map((change) => change.proxy)).toEqual([two])
      expect(starting.catalog.policyFor(two)).toBeDefined()
    })

    it('keeps the policy of a proxy that has disconnected until it is released', () => {
      fixture.catalog.registerProxy(proxyRef(one, 'a'))
      fixture.catalog.unregisterProxy(proxyRef(one, 'a'))
      const kept = fixture.catalog.policyFor(one)
      fixture.catalog.registerProxy(proxyRef(one, 'b'))
      fixture.catalog.releasePolicy(one)
      expect([fixture.catalog.policyFor(one), computed()]).toEqual([kept, 1])
      fixture.catalog.unregisterProxy(proxyRef(one, 'b'))
      fixture.catalog.releasePolicy(one)
      expect([fixture.catalog.policyFor(one), fixture.catalog.parts.size]).toEqual([undefined, 0])
    })

    it('shows the policy of a proxy that is not connected, with its origins, and forgets it again', () => {
      const text = readFileSync(new URL('testdata/in/traffic-target.yaml', import.meta.url), 'utf8')
      const known = [new MeshFixture(), new MeshFixture({ policyScope: 'connectedProxies' })].map((each) => {
        each.apply(objectsOf(text))
        return each.catalog
      })
      const shown = known.map((each) => each.listProxies().map((proxy) => each.policyWithOrigins(proxy)))
      expect(shown[1]).toEqual(shown[0])
      expect(shown[1]?.some((policy) => Object.keys(policy?.origins ?? {}).length > 0)).toBe(true)
      expect(known[1]?.parts.size).toBe(0)
    })
  })
})

function change(
  { catalog }: MeshFixture,
  wanted: Set<ProxyKey>,
  proxies: readonly ProxyKey[],
  { what, place }: { readonly what: 'connect' | 'disconnect' | 'release'; readonly place: number },
): void {
  const proxy = proxies[place]
  if (proxy === undefined) return
  const ref = proxyRef(proxy, `session of ${proxy}`)
  if (what === 'connect') {
    catalog.registerProxy(ref)
    wanted.add(proxy)
  } else {
    catalog.unregisterProxy(ref)
    if (what === 'disconnect') return
    catalog.releasePolicy(proxy)
    wanted.delete(proxy)
  }
}
