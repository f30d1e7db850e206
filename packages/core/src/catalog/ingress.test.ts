import { describe, expect, it } from '@jest/globals'

import { MeshFixture, meshConfig, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { objectKey } from '../spec/index.js'

const base = `
apiVersion: v1
kind: Service
metadata: { name: store, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: other, namespace: shop }
spec: { selector: { app: other }, ports: [{ port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: gateway, namespace: edge }
spec: { selector: { app: gateway }, ports: [{ port: 8000 }] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: store, namespace: shop, labels: { app: store } }
spec: { serviceAccountName: store, command: [store] }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: other, namespace: shop, labels: { app: other } }
spec: { serviceAccountName: other, command: [other] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: reads, namespace: shop }
spec: { matches: [{ name: read, pathRegex: /a, methods: [GET] }] }
`
const gateway = (address: string) =>
  objectsOf(
    `apiVersion: standalone.openservicemesh.io/v1alpha1\nkind: Workload\nmetadata: { name: gateway, namespace: edge, labels: { app: gateway } }\nspec: { sidecar: false, address: ${address} }\n`,
  )
const access = (kind: string, name: string, backend: string, sources: string, more = '') =>
  objectsOf(
    `apiVersion: policy.openservicemesh.io/v1alpha1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: shop }\nspec: { backends: [{ name: ${backend}, port: { number: 8080, protocol: http } }], sources: [${sources}]${more} }\n`,
  )
const fromGateway = '{ kind: Service, name: gateway, namespace: edge }'
const flags = (on: boolean) =>
  meshConfig({ featureFlags: { enableIngressBackendPolicy: on, enableAccessControlPolicy: on } })

describe('edits of what lets callers in from outside', () => {
  const fixture = new MeshFixture()
  fixture.apply([...objectsOf(base), ...gateway('192.0.2.1'), flags(true)])
  const ingress = access('IngressBackend', 'in', 'store', fromGateway)
  const ids = (name: string) => fixture.document(name).proxy.ingress.map(({ id }) => id)
  /** Names of the proxies that change, and how often parts were computed for it. */
  const applied = (...args: Parameters<MeshFixture['apply']>) => {
    fixture.catalog.resetCounters()
    const changed = fixture.apply(...args).length
    return { changed, parts: fixture.catalog.counters().get('ingress-part')?.computed ?? 0 }
  }

  it('concern the workloads that are opened, and no other', () => {
    expect(applied(ingress)).toEqual({ changed: 1, parts: 1 })
    expect([ids('shop/store-0'), ids('shop/other-0')]).toEqual([['shop/store|8080'], []])
    expect(applied(access('AccessControl', 'in', 'other', '{ kind: IPRange, name: 10.0.0.0/8 }')).changed).toBe(1)
    expect(ids('shop/other-0')).toEqual(['shop/other|8080'])
  })

  it('follow the endpoints of a source, and compute nothing for those of others', () => {
    expect(applied(gateway('192.0.2.2'))).toEqual({ changed: 1, parts: 1 })
    const { parts } = fixture.document('shop/store-0')
    expect(Object.values(parts).find(({ kind }) => kind === 'ingress')).toMatchObject({ sources: ['192.0.2.2/32'] })
    expect(applied(gateway('192.0.2.2'))).toEqual({ changed: 0, parts: 0 })
  })

  it('of a group concern those that name it', () => {
    const matches = ', matches: [{ apiGroup: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, name: reads }]'
    expect(applied(access('IngressBackend', 'in', 'store', fromGateway, matches)).changed).toBe(1)
    const group = base.slice(base.lastIndexOf('---') + 4).replace('pathRegex: /a', 'pathRegex: /b')
    expect(applied(objectsOf(group))).toEqual({ changed: 1, parts: 1 })
  })

  it('of a rival that does not hold change nothing but its problems', () => {
    expect(applied(access('IngressBackend', 'later', 'store', '{ kind: IPRange, name: 0.0.0.0/0 }'))).toEqual({
      changed: 0,
      parts: 0,
    })
    // The gateway has no sidecar, which its Service is told all the time.
    const gatewayProblem = expect.objectContaining({ code: 'OSM_POLICY_WITHOUT_SIDECAR' })
    expect(fixture.catalog.problems()).toEqual([
      expect.objectContaining({
        code: 'OSM_SPEC_CONFLICT',
        object: { kind: 'IngressBackend', namespace: 'shop', name: 'later' },
      }),
      gatewayProblem,
    ])
    // The rival inherits the port, origins included.
    const [key] = ingress.map(objectKey)
    expect(applied([], key === undefined ? [] : [key]).changed).toBe(1)
    expect(fixture.catalog.problems()).toEqual([gatewayProblem])
  })

  it('count only while their flag is on', () => {
    expect(applied([flags(false)]).changed).toBe(2)
    expect([ids('shop/store-0'), ids('shop/other-0')]).toEqual([[], []])
    expect(applied([flags(true)]).changed).toBe(2)
  })
})
