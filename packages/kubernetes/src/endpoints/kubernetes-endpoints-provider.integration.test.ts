import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type EndpointsAnnouncement, SnapshotFeed } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

import { ClusterFixture, RunningSource, uuid } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { resourceTypes } from '../resource-types.js'
import { KubernetesEndpointsProvider } from './kubernetes-endpoints-provider.js'

const ready = { ready: true, serving: true, terminating: false }
const unready = { ready: false, serving: false, terminating: false }
const draining = { ready: false, serving: true, terminating: true }
const ofPod = (name: string, address: string, conditions: object = ready, more: object = {}) => ({
  addresses: [address],
  conditions,
  targetRef: { kind: 'Pod', name },
  ...more,
})

let server: FakeApiServer
let cluster: ClusterFixture
let running: RunningSource
let provider: KubernetesEndpointsProvider
let announcements: EndpointsAnnouncement[]
let end: AbortController

async function start(): Promise<void> {
  const feed = new SnapshotFeed([running.source])
  await feed.start(end.signal)
  provider = new KubernetesEndpointsProvider({
    cluster: running.source,
    current: () => feed.current(),
    subscribe: (listener) => feed.subscribe(listener),
  })
  announcements = []
  provider.announcements((announcement) => announcements.push(announcement))
}

const endpoints = (name: string, namespace = 'shop') =>
  provider
    .listEndpointsForService({ namespace, name })
    .items.map(({ address, port, servicePort, sidecar }) => `${address}:${port} ${servicePort} ${sidecar?.uuid ?? '-'}`)

beforeEach(async () => {
  end = new AbortController()
  server = await FakeApiServer.start()
  cluster = new ClusterFixture(server)
  running = await RunningSource.create(server)
  cluster.namespace('shop', 'osm')
  cluster.service('shop', 'store')
  cluster.pod('shop', 'store-0', { uuid: uuid(1), labels: { app: 'store' }, account: 'store', ips: ['10.1.0.1'] })
})

afterEach(async () => {
  end.abort()
  await running.source.finished()
  await server.close()
})

describe('KubernetesEndpointsProvider', () => {
  it('lets no slice that names a pod have its sidecar are in front of another address', async () => {
    const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }]
    cluster.slice('shop', 'store', [ofPod('store-0', '10.9.9.9'), ofPod('store-0', '10.1.0.1')], { ports })
    await start()
    expect(endpoints('store')).toEqual([`10.1.0.1:8080 80 ${uuid(1)}`])
  })

  it('joins slices, families and ports, with identity, sidecar and zone', async () => {
    const labels = { app: 'store', 'topology.kubernetes.io/region': 'east', 'topology.kubernetes.io/zone': 'east-1' }
    cluster.pod('shop', 'plain', { labels, account: 'legacy', ips: ['10.1.0.2'] })
    const both = ['10.1.0.1', 'fd00::1']
    cluster.pod('shop', 'store-0', { uuid: uuid(1), labels: { app: 'store' }, account: 'store', ips: both })
    cluster.service('shop', 'store', {
      ports: [
        { name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' },
        { name: 'admin', port: 81, targetPort: 9000, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    })
    const ports = [
      { name: 'http', port: 8080, protocol: 'TCP' },
      { name: 'admin', port: 9000, protocol: 'TCP' },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ]
    cluster.slice('shop', 'store', [ofPod('store-0', '10.1.0.1', ready, { zone: 'west-1' })], { ports })
    cluster.slice('shop', 'store', [ofPod('plain', '10.1.0.2')], { ports, suffix: 'b' })
    cluster.slice('shop', 'store', [ofPod('store-0', 'fd00::1')], { ports, suffix: 'c', addressType: 'IPv6' })
    await start()
    expect(endpoints('store')).toEqual([
      `10.1.0.1:8080 80 ${uuid(1)}`,
      `10.1.0.1:9000 81 ${uuid(1)}`,
      '10.1.0.2:8080 80 -',
      '10.1.0.2:9000 81 -',
      `fd00::1:8080 80 ${uuid(1)}`,
      `fd00::1:9000 81 ${uuid(1)}`,
    ])
    const { state, items } = provider.listEndpointsForService({ namespace: 'shop', name: 'store' })
    expect(state).toBe('known')
    expect(items[0]).toMatchObject({
      account: { namespace: 'shop', name: 'store' },
      sidecar: { uuid: uuid(1), class: 'envoy', mode: 'transparent' },
      locality: { region: '', zone: 'west-1', subZone: '' },
      weight: 100,
    })
    expect(items[2]).toMatchObject({ locality: { region: 'east', zone: 'east-1', subZone: '' } })
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'store' }).items).toEqual([
      { namespace: 'shop', name: 'legacy' },
      { namespace: 'shop', name: 'store' },
    ])
  })

  it('takes what is ready, and what ends only while nothing else is', async () => {
    cluster.pod('shop', 'store-1', { uuid: uuid(2), labels: { app: 'store' }, account: 'second', ips: ['10.1.0.2'] })
    cluster.pod('shop', 'store-2', { uuid: uuid(3), labels: { app: 'store' }, account: 'third', ips: ['10.1.0.3'] })
    const slice = (first: object): void => {
      cluster.slice('shop', 'store', [
        ofPod('store-0', '10.1.0.1', first),
        ofPod('store-1', '10.1.0.2', draining),
        ofPod('store-2', '10.1.0.3', unready),
      ])
    }
    slice({})
    await start()
    expect(endpoints('store')).toEqual([`10.1.0.1:8080 80 ${uuid(1)}`])
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'store' }).items).toHaveLength(3)
    slice(unready)
    await until(() => endpoints('store').join() === `10.1.0.2:8080 80 ${uuid(2)}`, 'the last ready one goes')
    expect(announcements.flatMap(({ services }) => services)).toEqual([{ namespace: 'shop', name: 'store' }])
  })

  it('answers for one instance of a headless service, at its port and at that of the workload', async () => {
    cluster.service('shop', 'db', { clusterIP: 'None' })
    cluster.pod('shop', 'db-0', { uuid: uuid(4), account: 'zero', ips: ['10.1.0.4'] })
    cluster.pod('shop', 'db-1', { uuid: uuid(5), account: 'one', ips: ['10.1.0.5'] })
    cluster.slice('shop', 'db', [
      ofPod('db-0', '10.1.0.4', ready, { hostname: 'db-0' }),
      ofPod('db-1', '10.1.0.5', ready, { hostname: 'db-1' }),
    ])
    await start()
    // Clients may dial the port of a headless Service, or that of the workload.
    const both = (address: string, pod: number): string[] =>
      [80, 8080].map((port) => `${address}:8080 ${port} ${uuid(pod)}`)
    expect(endpoints('db')).toEqual([...both('10.1.0.4', 4), ...both('10.1.0.5', 5)])
    expect(endpoints('db-1.db')).toEqual(both('10.1.0.5', 5))
    expect(endpoints('db-7.db')).toEqual([])
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'db-0.db' }).items).toEqual([
      { namespace: 'shop', name: 'zero' },
    ])
  })

  it('reads slices written by hand, and finds the pods behind their addresses', async () => {
    cluster.service('shop', 'legacy', { selector: undefined, ports: [{ port: 80, protocol: 'TCP' }] })
    cluster.slice('shop', 'legacy', [{ addresses: ['192.0.2.1'] }, { addresses: ['10.1.0.1'], conditions: {} }], {
      ports: [{ port: 9999 }],
    })
    cluster.slice('shop', 'legacy', [{ addresses: ['db.example.com'] }], {
      ports: [{ name: '', port: 9999 }],
      suffix: 'b',
      addressType: 'FQDN',
    })
    await start()
    expect(endpoints('legacy')).toEqual([
      `10.1.0.1:9999 80 ${uuid(1)}`,
      '192.0.2.1:9999 80 -',
      'db.example.com:9999 80 -',
    ])
    const account = { namespace: 'shop', name: 'store' }
    expect(provider.listServicesForIdentity(account).items.map(({ name }) => name)).toEqual(['legacy', 'store'])
    expect(provider.listEndpointsForIdentity(account).items.map(({ address }) => address)).toEqual(['10.1.0.1'])
  })

  it('leaves out an address that is none of the pod that a slice names', async () => {
    cluster.service('shop', 'legacy', { selector: undefined, ports: [{ port: 80, protocol: 'TCP' }] })
    cluster.slice('shop', 'legacy', [ofPod('store-0', '192.0.2.7')], { ports: [{ port: 443 }] })
    await start()
    expect(endpoints('legacy')).toEqual([])
    expect(provider.listIdentitiesForService({ namespace: 'shop', name: 'legacy' }).items).toEqual([])
  })

  it('leaves out what no one can say whether it has a sidecar', async () => {
    cluster.pod('shop', 'starting', { uuid: uuid(6), ips: [] })
    cluster.slice('shop', 'store', [ofPod('unseen', '10.1.0.7'), ofPod('starting', '10.1.0.6')])
    await start()
    expect(endpoints('store')).toEqual([])
    cluster.pod('shop', 'unseen', { uuid: uuid(7), labels: { app: 'store' }, ips: ['10.1.0.7'] })
    await until(() => endpoints('store').join() === `10.1.0.7:8080 80 ${uuid(7)}`, 'the pod is seen')
    expect(announcements.at(-1)).toEqual({
      services: [{ namespace: 'shop', name: 'store' }],
      accounts: [{ namespace: 'shop', name: 'unseen' }],
    })
  })

  it('follows services, labels and accounts', async () => {
    cluster.slice('shop', 'store', [ofPod('store-0', '10.1.0.1')])
    cluster.account('shop', 'store')
    await start()
    const account = { namespace: 'shop', name: 'store' }
    const services = (): string =>
      provider
        .listServicesForIdentity(account)
        .items.map(({ name }) => name)
        .join()
    expect(services()).toBe('store')
    cluster.service('shop', 'shelf', { selector: { app: 'store' } })
    await until(() => services() === 'shelf,store', 'the second service comes')
    expect(announcements).toEqual([{ services: [{ namespace: 'shop', name: 'shelf' }], accounts: [account] }])
    cluster.pod('shop', 'store-0', { uuid: uuid(1), labels: { app: 'none' }, account: 'store', ips: ['10.1.0.1'] })
    await until(() => services() === '', 'no service selects the pod')
    expect(announcements[1]).toEqual({
      services: ['shelf', 'store'].map((name) => ({ namespace: 'shop', name })),
      accounts: [account],
    })
  })

  it('announces nothing when a pod turns ready or is written in other ways', async () => {
    cluster.slice('shop', 'store', [ofPod('store-0', '10.1.0.1')])
    await start()
    const pod = { uuid: uuid(1), labels: { app: 'store' }, account: 'store', ips: ['10.1.0.1'] }
    cluster.pod('shop', 'store-0', { ...pod, ready: false })
    cluster.pod('shop', 'store-0', { ...pod, ready: false, annotations: { 'a.example.com/b': 'c' } })
    cluster.pod('shop', 'marker', { ips: ['10.1.0.9'] })
    await until(() => announcements.length > 0, 'the marker arrives')
    expect(announcements).toEqual([{ services: [], accounts: [{ namespace: 'shop', name: 'marker' }] }])
  })

  it('joins endpoints of other clusters as the traffic policy of the service says', async () => {
    cluster.slice('shop', 'store', [ofPod('store-0', '10.1.0.1')])
    cluster.custom('ServiceImport', 'shop', 'store', {
      serviceAccountName: 'far',
      ports: [
        {
          port: 80,
          protocol: 'TCP',
          endpoints: [{ clusterKey: 'r/z/g/c', target: { host: 'far', ip: '192.0.2.9', port: 443, path: '/' } }],
        },
      ],
    })
    cluster.custom('GlobalTrafficPolicy', 'shop', 'store', { lbType: 'FailOver', targets: [] })
    await start()
    const store = { namespace: 'shop', name: 'store' }
    const far = { namespace: 'shop', name: 'far' }
    expect(provider.listEndpointsForService(store).items).toMatchObject([
      { address: '10.1.0.1', priority: 0, cluster: '' },
      { address: '192.0.2.9', priority: 1, cluster: 'r/z/g/c', account: far },
    ])
    expect(provider.listIdentitiesForService(store).items).toContainEqual(far)
    expect(provider.listServicesForIdentity(far).items).toEqual([store])
    cluster.custom('GlobalTrafficPolicy', 'shop', 'store', { lbType: 'Locality', targets: [] })
    await until(() => endpoints('store').length === 1, 'it stays at home')
    expect(announcements.at(-1)).toEqual({ services: [store], accounts: [far] })
  })

  it('gives its last answers as stale ones while the API server is away', async () => {
    cluster.slice('shop', 'store', [ofPod('store-0', '10.1.0.1')])
    await start()
    const port = Number(new URL(server.url).port)
    await server.close()
    await until(() => announcements.length > 0, 'it is told')
    expect(announcements[0]).toEqual({
      services: [{ namespace: 'shop', name: 'store' }],
      accounts: [{ namespace: 'shop', name: 'store' }],
    })
    expect(provider.listEndpointsForService({ namespace: 'shop', name: 'store' })).toMatchObject({
      state: 'stale',
      items: [{ address: '10.1.0.1' }],
      conditions: [{ code: 'OSM_ENDPOINTS_PROVIDER_FAILED' }],
    })
    const told = announcements.length
    await server.listen(port)
    const state = () => provider.listEndpointsForService({ namespace: 'shop', name: 'store' }).state
    await until(() => state() === 'known', 'it is known again')
    expect(announcements.length).toBeGreaterThan(told)
  })

  it('knows nothing of a namespace that was only just enrolled, and nothing at all of others', async () => {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await start()
    server.fault({ action: { kind: 'hold', until: released }, when: ({ path }) => path.includes('/late/pods') })
    cluster.service('late', 'web')
    cluster.slice('late', 'web', [{ addresses: ['192.0.2.1'] }])
    cluster.namespace('late', 'osm')
    await until(() => running.source.isEnrolled('late'), 'the namespace is being read')
    const ask = () => provider.listEndpointsForService({ namespace: 'late', name: 'web' })
    expect(ask()).toMatchObject({ state: 'unknown', items: [], conditions: [{ code: 'OSM_ENDPOINTS_UNKNOWN' }] })
    release()
    await until(() => ask().state === 'known', 'it has been read')
    expect(ask().items).toHaveLength(1)
    server.remove(resourceTypes.Namespace, { namespace: '', name: 'late' })
    await until(() => !running.source.isEnrolled('late'), 'it has left')
    expect(ask()).toEqual({ state: 'known', items: [] })
    expect(announcements.at(-1)?.services).toEqual([{ namespace: 'late', name: 'web' }])
  })
})
