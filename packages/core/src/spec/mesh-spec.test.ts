import { describe, expect, it } from '@jest/globals'

import { SnapshotBuilder, type Snapshot, type SnapshotUpdate } from '../snapshot/index.js'
import { isMonitored, SnapshotMeshSpec, type Enrolment, type MeshSpecAnnouncement } from './mesh-spec.js'
import { readObjects } from './read-objects.js'

const text = `
apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { openservicemesh.io/monitored-by: osm } }
---
apiVersion: v1
kind: Namespace
metadata: { name: ignored, labels: { openservicemesh.io/monitored-by: osm, openservicemesh.io/ignore: "true" } }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: other }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: ignored }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: web, namespace: shop, labels: { app: web } }
spec: { serviceAccountName: web-sa, command: [x] }
---
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: split, namespace: shop }
spec: { service: api.shop.svc.cluster.local, backends: [{ service: api-v1, weight: 90 }, { service: api-v2, weight: 10 }] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: routes, namespace: shop }
spec: { matches: [] }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: TCPRoute
metadata: { name: ports, namespace: other }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: good, namespace: shop }
spec:
  destination: { kind: ServiceAccount, name: web-sa }
  rules: [{ kind: TCPRoute, name: ports }]
  sources:
    - { kind: ServiceAccount, name: client, namespace: shop }
    - { kind: ServiceAccount, name: client, namespace: other }
    - { kind: Group, name: all, namespace: shop }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: elsewhere, namespace: shop }
spec: { destination: { kind: ServiceAccount, name: x, namespace: other }, rules: [{ kind: TCPRoute, name: ports }] }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: no-rules, namespace: shop }
spec: { destination: { kind: ServiceAccount, name: x } }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: udp, namespace: shop }
spec: { destination: { kind: ServiceAccount, name: x }, rules: [{ kind: UDPRoute, name: ports }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: { name: b, namespace: shop }
spec: { host: WEB.shop.svc.cluster.local }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: { name: a, namespace: other }
spec: { host: web.shop.svc.cluster.local }
`

function setUp(enrolment: Enrolment): {
  spec: SnapshotMeshSpec
  builder: SnapshotBuilder
  publish: (update: SnapshotUpdate) => void
} {
  const { objects, problems } = readObjects(text)
  expect(problems).toEqual([])
  const builder = new SnapshotBuilder(['x'])
  builder.apply([{ source: 'x', upserts: objects, deletes: [] }])
  const listeners = new Set<(update: SnapshotUpdate) => void>()
  const spec = new SnapshotMeshSpec({
    current: (): Snapshot => builder.snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    enrolment,
    clusterDomain: 'cluster.local',
  })
  const publish = (update: SnapshotUpdate): void => {
    for (const listener of listeners) listener(update)
  }
  return { spec, builder, publish }
}

const labelled = { mode: 'labelled', meshName: 'osm' } as const
const names = (objects: readonly { metadata: { namespace: string; name: string } }[]): readonly string[] =>
  objects.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)

describe('SnapshotMeshSpec', () => {
  it('lists what lies in monitored namespaces', () => {
    const { spec } = setUp(labelled)
    expect(names(spec.listServices())).toEqual(['shop/web'])
    expect(names(spec.listTrafficSplits())).toEqual(['shop/split'])
    expect(names(spec.listHTTPTrafficSpecs())).toEqual(['shop/routes'])
    expect(names(spec.listTCPTrafficSpecs())).toEqual([])
    expect(names(setUp({ mode: 'all' }).spec.listServices())).toEqual(['other/web', 'shop/web'])
    expect(names(setUp({ mode: 'all' }).spec.listTCPTrafficSpecs())).toEqual(['other/ports'])
    expect(setUp({ mode: 'labelled', meshName: 'another' }).spec.listServices()).toEqual([])
  })

  it('lists TrafficTargets that have an effect', () => {
    expect(names(setUp(labelled).spec.listTrafficTargets())).toEqual(['shop/good'])
  })

  it('lists the service accounts of TrafficTargets, each once', () => {
    expect(setUp(labelled).spec.listServiceAccounts()).toEqual([
      { namespace: 'shop', name: 'client' },
      { namespace: 'shop', name: 'web-sa' },
    ])
    expect(setUp({ mode: 'all' }).spec.listServiceAccounts()).toContainEqual({ namespace: 'other', name: 'client' })
  })

  it('lists backends with weight and apex', () => {
    const rootService = { namespace: 'shop', name: 'api' }
    expect(setUp(labelled).spec.listTrafficSplitServices()).toEqual([
      { service: { namespace: 'shop', name: 'api-v1' }, weight: 90, rootService },
      { service: { namespace: 'shop', name: 'api-v2' }, weight: 10, rootService },
    ])
  })

  it('gets services, and settings of their host and namespace', () => {
    const { spec } = setUp(labelled)
    expect(spec.getService({ namespace: 'shop', name: 'web' })?.metadata.name).toBe('web')
    expect(spec.getService({ namespace: 'other', name: 'web' })).toBeUndefined()
    expect(spec.getService({ namespace: 'shop', name: 'nothing' })).toBeUndefined()
    expect(spec.getBackpressurePolicy({ namespace: 'shop', name: 'web' })?.metadata).toMatchObject({
      namespace: 'shop',
      name: 'b',
    })
    expect(spec.getBackpressurePolicy({ namespace: 'shop', name: 'api' })).toBeUndefined()
    expect(spec.getBackpressurePolicy({ namespace: 'other', name: 'web' })).toBeUndefined()
  })

  it('announces changes until the listener leaves', () => {
    const { spec, builder, publish } = setUp(labelled)
    const heard: MeshSpecAnnouncement[] = []
    const end = spec.announcements((announcement) => heard.push(announcement))
    publish({ snapshot: builder.snapshot, changed: [] })
    end()
    publish({ snapshot: builder.snapshot, changed: [] })
    expect(heard).toEqual([{ snapshot: builder.snapshot, changed: [] }])
  })

  it('answers from the newest snapshot', () => {
    const { spec, builder } = setUp(labelled)
    const [added] = readObjects('{apiVersion: v1, kind: Service, metadata: {name: new, namespace: shop}}').objects
    builder.apply([{ source: 'x', upserts: added === undefined ? [] : [added], deletes: [] }])
    expect(names(spec.listServices())).toEqual(['shop/new', 'shop/web'])
  })

  it('gives the older view of the topology', () => {
    const topology = setUp(labelled).spec.topology()
    expect(names(topology.listTrafficSplits())).toEqual(['shop/split'])
    expect(topology.listServices()).toEqual(['shop/api', 'shop/api-v1', 'shop/api-v2', 'shop/web'])
    expect(topology.getService('shop/web')).toMatchObject({ exists: true, service: { metadata: { name: 'web' } } })
    expect(topology.getService('shop/api')).toEqual({ exists: false, service: undefined })
  })

  it('knows which namespaces take part', () => {
    const { builder } = setUp(labelled)
    const monitored = (namespace: string, enrolment: Enrolment): boolean =>
      isMonitored(builder.snapshot, namespace, enrolment)
    expect(['shop', 'ignored', 'other', 'unheard-of'].map((it) => monitored(it, labelled))).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect(['shop', 'ignored', 'other', 'unheard-of'].map((it) => monitored(it, { mode: 'all' }))).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})
