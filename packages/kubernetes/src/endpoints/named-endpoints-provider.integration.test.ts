import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@osm-ts/driver-api/toolkit'

import { FakeClock } from '../../../core/test/certificates/fake-clock.js'
import { ClusterFixture } from '../../test/cluster-fixture.js'
import { FakeApiServer } from '../../test/fake-api-server.js'
import { MemoryLogger } from '../../test/memory-logger.js'
import { resourceTypes } from '../resource-types.js'
import { NamedEndpointsProvider } from './named-endpoints-provider.js'

const gateway = { namespace: 'edge', name: 'gateway' }

let server: FakeApiServer
let stop: AbortController
let provider: NamedEndpointsProvider

beforeEach(async () => {
  server = await FakeApiServer.start()
  stop = new AbortController()
  provider = new NamedEndpointsProvider({
    api: await server.api(),
    clock: new FakeClock(),
    random: () => 0.5,
    logger: new MemoryLogger(),
    signal: stop.signal,
  })
})

afterEach(async () => {
  stop.abort()
  await provider.finished()
  await server.close()
})

function slice(service: string, suffix: string, addresses: readonly string[]): void {
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }))
  new ClusterFixture(server).slice('edge', service, endpoints, { suffix })
}

function addresses(): readonly string[] {
  return provider.listEndpointsForService(gateway).items.map(({ address }) => address)
}

describe('NamedEndpointsProvider', () => {
  it('reads the slices of the named Service and nothing else of its namespace', async () => {
    slice('gateway', 'a', ['10.9.0.1'])
    slice('neighbour', 'a', ['10.9.0.7'])
    provider.follow({ read: [gateway], beyond: [] })
    await provider.settled(stop.signal)
    expect(provider.listEndpointsForService(gateway)).toMatchObject({
      state: 'known',
      items: [{ address: '10.9.0.1', account: undefined, sidecar: undefined }],
    })
    expect(provider.listEndpointsForService({ ...gateway, name: 'neighbour' }).items).toEqual([])
    await until(() => server.requests.length >= 2)
    for (const { path, query } of server.requests)
      expect([path, query.labelSelector]).toEqual([
        '/apis/discovery.k8s.io/v1/namespaces/edge/endpointslices',
        'kubernetes.io/service-name=gateway',
      ])
  })

  it('follows endpoints as they come and go, and tells of each change', async () => {
    const told: string[] = []
    provider.announcements(({ services }) => told.push(...services.map(({ name }) => name)))
    provider.follow({ read: [gateway], beyond: [] })
    await provider.settled(stop.signal)
    expect(addresses()).toEqual([])
    slice('gateway', 'a', ['10.9.0.1'])
    await until(() => addresses().length === 1)
    slice('gateway', 'b', ['10.9.0.2'])
    await until(() => addresses().length === 2)
    server.remove(resourceTypes.EndpointSlice, { namespace: 'edge', name: 'gateway-a' })
    await until(() => addresses().join() === '10.9.0.2')
    expect(told.length).toBeGreaterThanOrEqual(4)
  })

  it('forgets a Service that no one names any more', async () => {
    slice('gateway', 'a', ['10.9.0.1'])
    provider.follow({ read: [gateway], beyond: [] })
    await provider.settled(stop.signal)
    expect(addresses()).toEqual(['10.9.0.1'])
    provider.follow({ read: [], beyond: [] })
    expect(addresses()).toEqual([])
  })

  it('says of a Service beyond a bound why nothing is known of it', () => {
    const told: string[] = []
    provider.announcements(({ services }) => told.push(...services.map(({ name }) => name)))
    provider.follow({ read: [], beyond: [gateway] })
    expect(told).toEqual(['gateway'])
    expect(provider.listEndpointsForService(gateway)).toMatchObject({
      state: 'unknown',
      conditions: [{ code: 'OSM_ENDPOINTS_UNKNOWN', message: expect.stringContaining('may name 32 Services') }],
    })
  })

  it('is unsure before the first answer', () => {
    provider.follow({ read: [gateway], beyond: [] })
    expect(provider.listEndpointsForService(gateway)).toMatchObject({
      state: 'unknown',
      conditions: [{ code: 'OSM_ENDPOINTS_UNKNOWN' }],
    })
  })
})
