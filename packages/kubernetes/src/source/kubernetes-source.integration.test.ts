import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { allKinds, kindDefinitions, makeObjectKey } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { ClusterFixture, RunningSource, uuid } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { isList, isWatch } from '../../test/fake-faults.js'
import { resourceTypes } from '../resource-types.js'

const target = (account: string) => ({
  destination: { kind: 'ServiceAccount', name: account, namespace: 'shop' },
  rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: ['all'] }],
  sources: [{ kind: 'ServiceAccount', name: 'client', namespace: 'shop' }],
})

let server: FakeApiServer
let cluster: ClusterFixture
let running: RunningSource

beforeEach(async () => {
  server = await FakeApiServer.start()
  cluster = new ClusterFixture(server)
  cluster.namespace('shop', 'osm')
  cluster.service('shop', 'store')
  cluster.account('shop', 'store')
  cluster.pod('shop', 'store-0', { uuid: uuid(1), labels: { app: 'store' }, account: 'store' })
  cluster.custom('TrafficTarget', 'shop', 'open', target('store'))
  running = await RunningSource.create(server)
})

afterEach(async () => {
  await running.stop()
  await server.close()
})

describe('KubernetesSource', () => {
  it('reads the namespaces of its mesh and nothing of others', async () => {
    cluster.namespace('elsewhere', 'other')
    cluster.namespace('plain', undefined)
    cluster.namespace('ignored', 'osm', { 'openservicemesh.io/ignore': 'true' })
    cluster.namespace('osm-system', 'osm')
    cluster.namespace('kube-system', 'osm')
    for (const namespace of ['elsewhere', 'plain', 'ignored', 'osm-system', 'kube-system']) {
      cluster.service(namespace, 'hidden')
      cluster.custom('TrafficTarget', namespace, 'hidden', target('store'))
    }
    await running.start()
    expect(running.keys()).toEqual([
      'Namespace//shop',
      'Service/shop/store',
      'ServiceAccount/shop/store',
      'TrafficTarget/shop/open',
      'WorkloadInstance/shop/store-0',
    ])
    const paths = server.requests.map(({ path }) => path)
    expect(paths).toContain('/api/v1/namespaces/shop/pods')
    expect(paths.filter((path) => /\/(pods|services|endpointslices)$/.test(path) && !path.includes('/shop/'))).toEqual(
      [],
    )
  })

  it('keeps meshes of one cluster apart', async () => {
    cluster.namespace('bank', 'second')
    cluster.service('bank', 'vault')
    cluster.custom('MeshConfig', 'osm-system', 'osm-mesh-config', {})
    cluster.custom('MeshConfig', 'osm-second', 'osm-mesh-config', {})
    const second = await RunningSource.create(server, { meshName: 'second', osmNamespace: 'osm-second' })
    await Promise.all([running.start(), second.start()])
    expect(second.keys()).toEqual(['MeshConfig/osm-second/osm-mesh-config', 'Namespace//bank', 'Service/bank/vault'])
    expect(running.keys()).toContain('MeshConfig/osm-system/osm-mesh-config')
    expect(running.keys().filter((key) => key.includes('bank') || key.includes('second'))).toEqual([])
    await second.stop()
  })

  it('reads policies for every namespace in that of the control plane, as they come and go', async () => {
    const open = { sources: [{ kind: 'ServiceAccount', name: 'store', namespace: 'shop' }], ports: [] }
    const inControlPlane = () => running.keys().filter((key) => key.includes('/osm-system/'))
    cluster.custom('Egress', 'osm-system', 'first', open)
    cluster.custom('Egress', 'osm-second', 'of-another-mesh', open)
    cluster.custom('TrafficTarget', 'osm-system', 'no-policy-for-others', target('store'))
    await running.start()
    expect(inControlPlane()).toEqual(['Egress/osm-system/first'])
    expect(running.keys().filter((key) => key.includes('osm-second'))).toEqual([])
    expect(running.source.servedKeys()).toContain('Egress/osm-system/first')
    cluster.custom('Egress', 'osm-system', 'second', open)
    await until(() => inControlPlane().length === 2, 'the second Egress is read')
  })

  it('says of a Retry outside the mesh that it belongs to the namespace of its source, while that is of the mesh', async () => {
    const retry = (namespace: string) => ({
      source: { kind: 'ServiceAccount', name: 'buyer', namespace },
      destinations: [{ kind: 'Service', name: 'store', namespace: 'shop' }],
      retryPolicy: { retryOn: '5xx', perTryTimeout: '1s', numRetries: 1, retryBackoffBaseInterval: '1s' },
    })
    cluster.custom('Retry', 'default', 'stray', retry('shop'))
    cluster.custom('Retry', 'default', 'of-nobody-here', retry('elsewhere'))
    const told = () => running.source.problems().filter(({ code }) => code === 'OSM_SPEC_RETRY_NAMESPACE')
    const names = () => told().map(({ object }) => object?.name)
    await running.start()
    expect(told()).toMatchObject([{ object: { namespace: 'default', name: 'stray' }, field: 'spec.source.namespace' }])
    expect(running.keys()).not.toContain('Retry/default/stray')
    expect(running.source.servedKeys().filter((key) => key.startsWith('Retry/'))).toEqual(['Retry/default/stray'])
    expect(running.source.served(makeObjectKey('Retry', 'default', 'stray'))).toBeDefined()
    cluster.custom('Retry', 'default', 'later', retry('shop'))
    await until(() => names().includes('later'), 'the later one is told of')
    cluster.custom('Retry', 'default', 'stray', retry('elsewhere'))
    await until(() => names().join() === 'later', 'objects of other meshes are absent')
    cluster.namespace('shop', undefined)
    await until(() => names().length === 0, 'a namespace that leaves takes its strays')
    expect(running.source.servedKeys().filter((key) => key.startsWith('Retry/'))).toEqual([])
  })

  it('keeps the labels by which Services select an ExternalWorkload', async () => {
    cluster.custom('ExternalWorkload', 'shop', 'press', { addresses: ['198.51.100.20'] }, { labels: { app: 'store' } })
    await running.start()
    const labels = () => running.source.objects().find(({ kind }) => kind === 'ExternalWorkload')?.metadata.labels
    expect(labels()).toEqual({ app: 'store' })
    cluster.custom('ExternalWorkload', 'shop', 'press', { addresses: ['198.51.100.20'] }, { labels: { app: 'other' } })
    await until(() => labels()?.app === 'other', 'other labels are read')
  })

  it('takes only the MeshConfig by its name', async () => {
    cluster.custom('MeshConfig', 'osm-system', 'osm-mesh-config', {})
    cluster.custom('MeshConfig', 'osm-system', 'mine', {})
    running = await RunningSource.create(server, { configName: 'mine' })
    await running.start()
    expect(running.keys().filter((key) => key.startsWith('MeshConfig'))).toEqual(['MeshConfig/osm-system/mine'])
  })

  it('brings and takes a namespace as a whole, when it is enrolled and withdrawn', async () => {
    cluster.namespace('late', undefined)
    cluster.service('late', 'web')
    cluster.pod('late', 'web-0', { uuid: uuid(2), labels: { app: 'web' } })
    cluster.custom('TrafficTarget', 'late', 'open', target('web'))
    await running.start()
    // The clock is fast: on a busy machine the copy is stale for a moment, and that is a change without objects.
    const changes = () => running.changes.filter(({ upserts, deletes }) => upserts.length + deletes.length > 0)
    cluster.namespace('late', 'osm')
    await until(() => changes().length > 0, 'the namespace joins')
    expect(changes().map(({ upserts }) => upserts.map(({ kind }) => kind).sort())).toEqual([
      ['Namespace', 'Service', 'TrafficTarget', 'WorkloadInstance'],
    ])
    cluster.namespace('late', undefined)
    await until(() => changes().length > 1, 'the namespace leaves')
    expect(changes()[1]?.deletes).toEqual(
      expect.arrayContaining(['Namespace//late', 'Service/late/web', 'TrafficTarget/late/open']),
    )
    expect(running.keys().filter((key) => key.includes('late'))).toEqual([])
    cluster.service('late', 'unseen')
    cluster.namespace('late', 'osm')
    await until(() => running.keys().includes('Service/late/unseen'), 'the namespace joins again')
  })

  it('says nothing of changes without effect', async () => {
    await running.start()
    const settled = server.objects.version
    for (let round = 1; round <= 20; round += 1) {
      const noise = { [`tool.example.com/${round}`]: String(round), 'kubectl.kubernetes.io/last-applied': '{}' }
      server.put(
        resourceTypes.TrafficTarget,
        { name: 'open', namespace: 'shop', generation: 1, annotations: noise },
        { spec: target('store'), status: { conditions: [{ type: 'Accepted', message: String(round) }] } },
      )
      cluster.pod('shop', 'store-0', {
        uuid: uuid(1),
        labels: { app: 'store' },
        account: 'store',
        annotations: noise,
        spec: { nodeName: `node-${round}` },
      })
      server.put(
        resourceTypes.Service,
        { name: 'store', namespace: 'shop', annotations: noise, labels: { chart: String(round) } },
        {
          spec: server.objects.get(resourceTypes.Service, { namespace: 'shop', name: 'store' })?.spec,
          status: { loadBalancer: { ingress: [{ ip: `192.0.2.${round}` }] } },
        },
      )
      server.put(resourceTypes.ServiceAccount, { name: 'store', namespace: 'shop', annotations: noise })
    }
    server.watches.bookmark()
    server.objects.compact()
    server.cut()
    expect(server.objects.version - settled).toBe(80)
    // Everything of a kind that was written before a marker of the kind has arrived once the marker has.
    cluster.service('shop', 'marker')
    cluster.account('shop', 'marker')
    cluster.pod('shop', 'marker', { uuid: uuid(2) })
    cluster.custom('TrafficTarget', 'shop', 'marker', target('store'))
    await until(() => running.keys().filter((key) => key.endsWith('/marker')).length === 4, 'the markers arrive')
    expect(running.changes.flatMap(({ upserts }) => upserts.map(({ metadata }) => metadata.name))).toEqual(
      Array.from({ length: 4 }, () => 'marker'),
    )
  })

  it('keeps the last good version of an object that goes bad, and names it', async () => {
    cluster.custom('Retry', 'shop', 'retry', {
      source: { kind: 'ServiceAccount', name: 'client', namespace: 'shop' },
      destinations: [{ kind: 'Service', name: 'store', namespace: 'shop' }],
      retryPolicy: { retryOn: '5xx', numRetries: 3, perTryTimeout: '1s', retryBackoffBaseInterval: '1s' },
    })
    cluster.custom('Retry', 'shop', 'never-good', { source: 3 })
    await running.start()
    const key = makeObjectKey('Retry', 'shop', 'retry')
    const good = running.source.objects().find(({ metadata }) => metadata.name === 'retry')
    cluster.custom('Retry', 'shop', 'retry', { source: { kind: 'Pod' } }, { generation: 2 })
    await until(() => running.source.problems().some(({ object }) => object?.name === 'retry'), 'problems come')
    expect(running.source.objects().find(({ metadata }) => metadata.name === 'retry')).toBe(good)
    expect(running.changes.map(({ upserts, deletes }) => [upserts, deletes])).toEqual([[[], []]])
    expect(running.source.problems().filter(({ object }) => object?.name === 'retry')[0]).toMatchObject({
      code: 'OSM_SPEC_SCHEMA',
      object: { kind: 'Retry', namespace: 'shop', name: 'retry' },
      origin: { kind: 'api', resourceVersion: expect.any(String) },
      field: expect.stringContaining('spec.'),
    })
    expect(running.keys()).not.toContain('Retry/shop/never-good')
    expect(running.source.locate(key)).toEqual(good?.origin)
    server.remove(resourceTypes.Retry, { namespace: 'shop', name: 'retry' })
    await until(() => !running.keys().includes(key), 'it goes')
    expect(running.source.problems().filter(({ object }) => object?.name === 'retry')).toEqual([])
  })

  it('keeps the last good version of a Plugin whose script breaks, and takes the next good one', async () => {
    const write = (pipyscript: string, generation: number): void =>
      cluster.custom('Plugin', '', 'rules', { priority: 1, pipyscript }, { generation })
    write('export var a = 1', 1)
    await running.start()
    const held = (): unknown =>
      running.source.objects().flatMap((object) => (object.kind === 'Plugin' ? [object.spec.pipyscript] : []))
    const ofPlugin = () => running.source.problems().filter(({ object }) => object?.kind === 'Plugin')
    expect(held()).toEqual(['export var a = 1'])
    write('export var a = ;', 2)
    await until(() => ofPlugin().length > 0, 'a problem of the Plugin')
    expect(held()).toEqual(['export var a = 1'])
    expect(running.changes.map(({ upserts, deletes }) => [upserts, deletes])).toEqual([[[], []]])
    expect(ofPlugin()).toMatchObject([
      {
        code: 'OSM_SPEC_SCRIPT',
        message: 'is not a JavaScript module: Unexpected token (1:15); the last good version stays in force',
        object: { kind: 'Plugin', namespace: '', name: 'rules' },
        field: 'spec.pipyscript',
        origin: { kind: 'api', resourceVersion: expect.any(String) },
      },
    ])
    write('export var a = 2', 3)
    await until(() => ofPlugin().length === 0, 'the end of the problem')
    expect(held()).toEqual(['export var a = 2'])
  })

  it('does without a kind that is not served, and reads it when it is', async () => {
    cluster.withhold(resourceTypes.TrafficTarget)
    await running.start()
    expect(running.keys()).toContain('Service/shop/store')
    expect(running.keys()).not.toContain('TrafficTarget/shop/open')
    expect(running.source.problems()).toEqual([
      expect.objectContaining({
        code: 'OSM_SOURCE_KIND_MISSING',
        message: expect.stringContaining('traffictargets.access.smi-spec.io'),
      }),
    ])
    server.clearFaults()
    await until(() => running.keys().includes('TrafficTarget/shop/open'), 'the kind comes')
    expect(running.source.problems()).toEqual([])
    cluster.withhold(resourceTypes.TrafficTarget)
    server.objects.compact()
    server.cut()
    await until(() => !running.keys().includes('TrafficTarget/shop/open'), 'the kind goes')
    // The watches that were cut are missed until they are there again.
    const codes = (): readonly string[] => running.source.problems().map(({ code }) => code)
    await until(() => !codes().includes('OSM_SOURCE_STALE'), 'only the kind is missed')
    expect(codes()).toEqual(['OSM_SOURCE_KIND_MISSING'])
  })

  it('starts without any of its definitions, and takes them as they come', async () => {
    const custom = allKinds().filter(
      (kind) =>
        resourceTypes[kind].group.endsWith('.io') && !kind.startsWith('Workload') && !kindDefinitions[kind].foreign,
    )
    for (const kind of custom) cluster.withhold(resourceTypes[kind])
    await running.start()
    expect(running.keys()).toContain('WorkloadInstance/shop/store-0')
    expect(running.source.problems().map(({ code }) => code)).toEqual(custom.map(() => 'OSM_SOURCE_KIND_MISSING'))
    expect(custom).toHaveLength(23)
    server.clearFaults()
    await until(() => running.source.problems().length === 0, 'the kinds come')
    expect(running.keys()).toContain('TrafficTarget/shop/open')
  })

  it('misses no kind of the Gateway API, takes each when it comes, and tells it from one of the mesh with its name', async () => {
    const grant = (group: string, kind: string) => ({
      from: [{ group, kind, namespace: 'other' }],
      to: [{ group: '', kind: 'Service' }],
    })
    const routes = grant('gateway.networking.k8s.io', 'HTTPRoute')
    cluster.withhold(resourceTypes.GatewayReferenceGrant)
    cluster.custom('GatewayReferenceGrant', 'shop', 'others', routes)
    cluster.custom('ReferenceGrant', 'shop', 'others', grant('policy.openservicemesh.io', 'Egress'))
    await running.start()
    expect(running.keys()).toContain('ReferenceGrant/shop/others')
    expect(running.keys()).not.toContain('GatewayReferenceGrant/shop/others')
    expect(running.source.problems()).toEqual([])
    server.clearFaults()
    await until(() => running.keys().includes('GatewayReferenceGrant/shop/others'), 'the kind comes')
    expect(running.keys()).toContain('ReferenceGrant/shop/others')
    expect(running.source.objects().find(({ kind }) => kind === 'GatewayReferenceGrant')).toMatchObject({
      apiVersion: 'gateway.networking.k8s.io/v1',
      spec: routes,
    })
    expect(running.source.problems()).toEqual([])
  })

  it('tells a TCPRoute of the Gateway API from one of SMI, and reads an older version of a TLSRoute', async () => {
    const parentRefs = [{ group: '', kind: 'Service', name: 'store', port: 5432 }]
    const rules = [{ backendRefs: [{ name: 'store', port: 5432 }] }]
    cluster.serve('gateway.networking.k8s.io', { v1alpha3: ['tlsroutes', 'tlsroutes/status'], v1: ['tcproutes'] })
    cluster.custom('TCPRoute', 'shop', 'store', { matches: { ports: [5432] } })
    cluster.custom('GatewayTCPRoute', 'shop', 'store', { parentRefs, rules })
    server.put(
      { ...resourceTypes.TLSRoute, version: 'v1alpha3' },
      { generation: 1, namespace: 'shop', name: 'store' },
      { spec: { parentRefs, hostnames: ['store.example'], rules } },
    )
    await running.start()
    expect(running.source.problems()).toEqual([])
    expect(running.keys()).toEqual(
      expect.arrayContaining(['GatewayTCPRoute/shop/store', 'TCPRoute/shop/store', 'TLSRoute/shop/store']),
    )
    expect(running.source.served(makeObjectKey('GatewayTCPRoute', 'shop', 'store'))?.type).toMatchObject({
      group: 'gateway.networking.k8s.io',
      version: 'v1',
      plural: 'tcproutes',
    })
    expect(running.source.served(makeObjectKey('TLSRoute', 'shop', 'store'))).toMatchObject({
      hasStatus: true,
      type: { version: 'v1alpha3' },
    })
  })

  it('asks of kinds of the control plane in its namespace only, where it may', async () => {
    cluster.withhold(resourceTypes.MeshConfig)
    await running.start()
    const asked = server.requests.filter(({ path }) => path.endsWith('/meshconfigs'))
    expect(new Set(asked.map(({ path, query }) => `${path} ${query.fieldSelector ?? ''}`))).toEqual(
      new Set([
        '/apis/config.openservicemesh.io/v1alpha2/namespaces/osm-system/meshconfigs metadata.name=osm-mesh-config',
      ]),
    )
    expect(running.source.problems()).toEqual([expect.objectContaining({ code: 'OSM_SOURCE_KIND_MISSING' })])
  })

  it('waits for an API server that cannot say yet what it serves', async () => {
    server.fault({
      action: { kind: 'status', status: 503, reason: 'ServiceUnavailable' },
      when: (request) => isList(request) && request.path.includes('traffictargets'),
      times: 3,
    })
    await running.start()
    expect(running.keys()).toContain('TrafficTarget/shop/open')
  })

  it('tells of its objects again when the API server begins to list a kind, whose statuses can be written then', async () => {
    const key = makeObjectKey('TrafficTarget', 'shop', 'open')
    await running.start()
    // An API server that was just given a definition serves the kind first, and lists it a little later.
    expect(running.source.served(key)).toMatchObject({ hasStatus: false })
    const written: string[] = []
    running.source.onWritten((told) => written.push(told))
    cluster.serve('access.smi-spec.io', { v1alpha3: ['traffictargets', 'traffictargets/status'] })
    await until(() => written.includes(key), 'the object is told of')
    expect(running.source.served(key)).toMatchObject({ hasStatus: true })
    expect(running.changes).toEqual([])
  })

  it('reads an older version where the API server has no newer one', async () => {
    cluster.serve('split.smi-spec.io', { v1alpha2: ['trafficsplits', 'trafficsplits/status'] })
    cluster.custom('TrafficSplit', 'shop', 'split', {
      service: 'store',
      backends: [{ service: 'store', weight: 1 }],
    })
    await running.start()
    const lists = server.requests.filter((request) => isList(request) && request.path.endsWith('/trafficsplits'))
    expect(new Set(lists.map(({ path }) => path))).toEqual(new Set(['/apis/split.smi-spec.io/v1alpha2/trafficsplits']))
    expect(running.source.objects().find(({ kind }) => kind === 'TrafficSplit')).toMatchObject({
      apiVersion: 'split.smi-spec.io/v1alpha4',
      spec: { backends: [{ service: 'store', weight: 1 }] },
    })
    const key = makeObjectKey('TrafficSplit', 'shop', 'split')
    expect(running.source.served(key)).toMatchObject({ type: { version: 'v1alpha2' }, hasStatus: true })
    cluster.serve('split.smi-spec.io', { v1alpha4: ['trafficsplits'], v1alpha2: ['trafficsplits'] })
    await until(() => running.source.served(key)?.type.version === 'v1alpha4', 'the newer version is used')
    expect(running.changes).toEqual([])
  })

  it('has its first snapshot when all of it is there, and not before', async () => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    server.fault({
      action: { kind: 'hold', until: released },
      when: ({ path }) => path.endsWith('/namespaces/shop/endpointslices'),
    })
    let started = false
    const start = running.start().then(() => {
      started = true
    })
    await until(() => server.requests.filter(isWatch).length >= 18, 'the rest is read')
    expect(started).toBe(false)
    release()
    await start
    expect(running.keys()).toContain('WorkloadInstance/shop/store-0')
  })

  it('keeps everything while the API server is away, says so, and catches up', async () => {
    await running.start()
    const before = running.keys()
    const port = Number(new URL(server.url).port)
    await server.close()
    // One after the other, and as one when it is all of them.
    await until(() => running.source.problems()[0]?.message.startsWith('30 of the lists') === true, 'it is noticed')
    expect(running.source.problems()).toEqual([expect.objectContaining({ code: 'OSM_SOURCE_STALE' })])
    expect(running.source.staleness('shop')).toEqual(expect.any(String))
    expect(running.keys()).toEqual(before)
    cluster.service('shop', 'new')
    server.remove(resourceTypes.TrafficTarget, { namespace: 'shop', name: 'open' })
    await server.listen(port)
    await until(() => running.keys().includes('Service/shop/new'), 'it catches up')
    await until(() => running.source.problems().length === 0, 'it is no longer stale')
    expect(running.keys()).not.toContain('TrafficTarget/shop/open')
    expect(running.source.staleness('shop')).toBeUndefined()
    expect(running.changes.flatMap(({ deletes }) => deletes)).toEqual(['TrafficTarget/shop/open'])
  })
})
