import { describe, expect, it } from '@jest/globals'
import type { Instance } from '@osm-ts/endpoints-api'

import { SnapshotBuilder, type SnapshotUpdate } from '../../snapshot/index.js'
import { ObjectDecoder, readObjects } from '../../spec/index.js'
import type { EndpointsAnnouncement } from '../endpoint.js'
import { AddressRules } from './address-rules.js'
import { PluginEndpointsProvider } from './plugin-endpoints-provider.js'

const decoder = new ObjectDecoder()
const rules = new AddressRules({ allowLoopback: false, refused: ['10.96.0.0/12', '192.0.2.77'] })
const store = { namespace: 'shop', name: 'store' }
const services = (storeAddress = '10.200.0.1') => `
apiVersion: v1
kind: Service
metadata: { name: store, namespace: shop }
spec:
  clusterIP: ${storeAddress}
  selector: { app: store }
  ports: [{ name: http, port: 80, targetPort: web }, { name: admin, port: 81, targetPort: 9000 }, { name: plain, port: 82 }]
---
apiVersion: v1
kind: Service
metadata: { name: other, namespace: shop }
spec: { clusterIP: 'fd00:96::5', selector: { app: other }, ports: [{ port: 80 }] }
`

function instance(id: string, fields: Partial<Instance> = {}): Instance {
  return { id, addresses: ['198.51.100.1'], ready: true, serviceAccount: 'store', sidecar: {}, ...fields }
}

function setUp() {
  const builder = new SnapshotBuilder(['test'])
  let listener = (_update: SnapshotUpdate): void => undefined
  const write = (text: string): void => {
    const { objects } = readObjects(text, { decoder })
    listener(builder.apply([{ source: 'test', upserts: objects, deletes: [] }]))
  }
  write(services())
  const provider = new PluginEndpointsProvider({
    id: 'cloud',
    rules,
    current: () => builder.snapshot,
    subscribe: (added) => {
      listener = added
      return () => undefined
    },
    now: () => 1_000,
  })
  const heard: EndpointsAnnouncement[] = []
  provider.announcements((announcement) => heard.push(announcement))
  const publish = (...instances: readonly unknown[]) => provider.publish({ services: [{ service: store, instances }] })
  const addresses = () =>
    provider
      .listEndpointsForService(store)
      .items.map(({ address, servicePort, port }) => `${address} ${servicePort} ${port}`)
  return { provider, publish, addresses, heard, write }
}

describe('an endpoints provider of a plug-in', () => {
  it('joins instances with the ports of their Service, by number, name and override', () => {
    const { provider, publish, addresses } = setUp()
    publish(
      instance('a', {
        ports: [
          { name: 'web', port: 8080 },
          { name: 'plain', port: 7 },
        ],
      }),
      instance('b', { addresses: ['2001:db8::1'] }),
      instance('c', { addresses: ['198.51.100.3'], ready: false, serviceAccount: 'idle' }),
    )
    expect(addresses()).toEqual([
      '198.51.100.1 82 7',
      '198.51.100.1 80 8080',
      '198.51.100.1 81 9000',
      '2001:db8::1 82 82',
      '2001:db8::1 81 9000',
    ])
    expect(provider.listEndpointsForService(store).items[0]).toMatchObject({
      account: { namespace: 'shop', name: 'store' },
      sidecar: { uuid: '', class: '', mode: 'transparent' },
      weight: 100,
    })
    const accounts = provider.listIdentitiesForService(store).items.map(({ name }) => name)
    expect(accounts).toEqual(['idle', 'store'])
    expect(provider.listServicesForIdentity({ namespace: 'shop', name: 'idle' }).items).toEqual([store])
    expect(provider.listServicesForIdentity({ namespace: 'else', name: 'idle' }).items).toEqual([])
    expect(provider.listEndpointsForIdentity({ namespace: 'shop', name: 'idle' }).items).toEqual([])
  })

  it.each([
    // Of the Service, in each form in which IPv6 can say an IPv4 address.
    '::ffff:10.200.0.1',
    '::10.200.0.1',
    '::ffff:0:10.200.0.1',
    '64:ff9b::10.200.0.1',
    '2002:0ac8:0001::1',
    // Loopback, link-local and an address of the control plane.
    '::ffff:0:127.0.0.1',
    '2002:a9fe:a9fe::',
    '2002:c000:024d::',
    // Metadata of GCP, Oracle, Scaleway, Akamai and Alibaba Cloud.
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    '192.0.0.192',
    'fd00:42::42',
    'fd00:a9fe:a9fe::1',
    'fd00:100::100:200',
  ])('does not use the address %s', (address) => {
    const { provider, publish, addresses } = setUp()
    publish(instance('a', { addresses: [address] }))
    expect(addresses()).toEqual([])
    expect(provider.state().faults).toMatchObject([{ code: 'OSM_ENDPOINTS_ADDRESS', instance: 'a' }])
  })

  it('uses an address of IPv6 that stands for a permitted one', () => {
    const { publish, addresses } = setUp()
    publish(instance('a', { addresses: ['2002:c633:6401::1'], ports: [{ name: 'web', port: 8080 }] }))
    expect(addresses()).toContain('2002:c633:6401::1 80 8080')
  })

  it('has the answer from before a restart in force, as stale, until it answers', () => {
    const { provider, publish, addresses, heard } = setUp()
    provider.restore({ services: [{ service: store, instances: [instance('a')] }] })
    expect(addresses()).toHaveLength(2)
    expect(provider.state().state).toBe('starting')
    expect(provider.listEndpointsForService(store)).toMatchObject({
      state: 'stale',
      conditions: [{ message: expect.stringContaining('since the controller started') as unknown }],
    })
    heard.length = 0
    publish(instance('a'))
    expect(provider.listEndpointsForService(store).state).toBe('known')
    expect(heard).toMatchObject([{ services: [store] }])
    provider.restore({ services: [] })
    expect(addresses()).toHaveLength(2)
  })

  it('keeps the instances from before a restart while the plug-in cannot find their service', () => {
    const { provider, addresses } = setUp()
    provider.restore({ services: [{ service: store, instances: [instance('a')] }] })
    const before = addresses()
    const lost = { services: [{ service: store, instances: [], stale: 'AccessDenied' }] }
    provider.publish(lost)
    provider.publish(lost)
    expect(addresses()).toEqual(before)
    expect(provider.listEndpointsForService(store).state).toBe('stale')
    const again = setUp()
    again.provider.restore(provider.inForce())
    expect(again.addresses()).toEqual(before)
    provider.publish({ services: [{ service: store, instances: [] }] })
    provider.publish(lost)
    expect(addresses()).toEqual([])
  })

  it('keeps its instances when its process starts again and cannot find their service', () => {
    const { provider, publish, addresses } = setUp()
    publish(instance('a'), instance('b', { addresses: ['198.51.100.2'] }))
    const before = addresses()
    provider.ended('it was killed')
    const partly = { service: store, instances: [instance('b', { addresses: ['198.51.100.2'] })] }
    provider.publish({ services: [{ ...partly, stale: 'the API does not answer' }] })
    expect(addresses()).toEqual(before)
    expect(provider.listEndpointsForService(store).state).toBe('stale')
    provider.publish({ services: [partly] })
    expect(addresses()).toEqual(before.filter((line) => line.startsWith('198.51.100.2')))
    expect(provider.listEndpointsForService(store).state).toBe('known')
    provider.publish({ services: [{ service: store, instances: [], stale: 'the API fails' }] })
    expect(addresses()).toEqual([])
  })

  it('has no more instances of a service after a restart than a service may have', () => {
    const { provider } = setUp()
    const many = (prefix: string) => Array.from({ length: 1_000 }, (_, at) => instance(`${prefix}${at}`))
    provider.publish({ services: [{ service: store, instances: many('a') }] })
    provider.ended('it was killed')
    provider.publish({ services: [{ service: store, instances: many('b'), stale: 'the API does not answer' }] })
    expect(provider.state().instances).toBe(1_000)
  })

  it('announces every service when it works again', () => {
    const { provider, publish, heard } = setUp()
    publish(instance('a'))
    provider.fail('the API is down')
    heard.length = 0
    publish(instance('a'))
    expect(provider.listEndpointsForService(store).state).toBe('known')
    expect(heard).toMatchObject([{ services: [store] }])
  })

  it('keeps nothing of an invalid answer from before a restart', () => {
    const { provider, addresses } = setUp()
    provider.restore('text')
    provider.restore({ services: [{ service: store, instances: [instance('a', { addresses: ['127.0.0.1'] })] }] })
    expect(addresses()).toEqual([])
  })

  it('keeps its last good answer while it fails, as stale, and announces the change', () => {
    const { provider, publish, addresses, heard } = setUp()
    expect(provider.state().state).toBe('starting')
    publish(instance('a'))
    const before = addresses()
    provider.fail('the API is down')
    expect(provider.listEndpointsForService(store)).toMatchObject({
      state: 'stale',
      conditions: [
        { code: 'OSM_ENDPOINTS_PROVIDER_FAILED', message: expect.stringContaining('the API is down') as unknown },
      ],
    })
    provider.fail('the API is still down')
    expect(heard).toHaveLength(2)
    expect(addresses()).toEqual(before)
    provider.publish({ services: 'none' })
    expect(provider.state()).toMatchObject({ state: 'failing', reason: 'the answer must have a list of services' })
    expect(addresses()).toEqual(before)
    provider.recover()
    expect(provider.listEndpointsForService(store).state).toBe('known')
    expect(heard.at(-1)).toEqual({ services: [store], accounts: [{ namespace: 'shop', name: 'store' }] })
    provider.publish({ services: [] })
    expect(addresses()).toEqual([])
  })

  it.each([
    '127.0.0.1',
    '::1',
    '0.0.0.0',
    '::',
    '169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    '168.63.129.16',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    '10.96.0.10',
    '192.0.2.77',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::7f00:1',
    '::127.0.0.1',
    '10.200.0.1',
    'fd00:96:0::5',
    'metadata.google.internal',
    '198.51.100.1/24',
    'fe80::1%eth0',
  ])('never aims the mesh at %s, and says so', (address) => {
    const { provider, publish, addresses } = setUp()
    publish(instance('bad', { addresses: [address] }), instance('good'))
    expect(addresses().every((line) => line.startsWith('198.51.100.1 '))).toBe(true)
    expect(addresses()).not.toEqual([])
    expect(provider.state().faults).toEqual([
      {
        code: 'OSM_ENDPOINTS_ADDRESS',
        service: store,
        instance: 'bad',
        message: expect.stringContaining(address) as unknown,
      },
    ])
  })

  it('takes the first permitted address of an instance', () => {
    const { publish, addresses } = setUp()
    publish(instance('a', { addresses: ['127.0.0.1', '198.51.100.9'] }))
    expect(addresses()).toEqual(['198.51.100.9 82 82', '198.51.100.9 81 9000'])
  })

  it('refuses an address as soon as a Service has it', () => {
    const { publish, addresses, heard, write } = setUp()
    publish(instance('a'))
    heard.length = 0
    write(services('198.51.100.1'))
    expect(heard.map((it) => it.services)).toEqual([[store]])
    expect(addresses()).toEqual([])
  })

  it.each([
    [{ id: '' }, 'instances[0].id must have 1 to 512 characters'],
    [{ addresses: [] }, 'instances[0].addresses must be a list of 1 to 8 IP addresses'],
    [{ addresses: Array.from({ length: 9 }, () => '198.51.100.1') }, 'addresses must be a list of 1 to 8'],
    [{ ready: 'yes' }, 'instances[0].ready must be true or false'],
    [{ serviceAccount: 'a/b' }, 'instances[0].serviceAccount must be the name'],
    [{ weight: -1 }, 'instances[0].weight must be an integer from 0 to 1000'],
    [{ ports: [{ name: 'x', port: 0 }] }, 'instances[0].ports must be a list'],
    [{ locality: { region: 1 } }, 'instances[0].locality must have region'],
    [{ sidecar: { class: '../x' } }, 'instances[0].sidecar must be an object'],
    [{ serviceAccount: undefined }, 'has a sidecar and no serviceAccount'],
  ])('leaves out an instance with %j and uses the others', (fields, words) => {
    const { provider, publish, addresses } = setUp()
    publish({ ...instance('bad', { addresses: ['198.51.100.66'] }), ...fields }, instance('good'))
    expect(addresses().map((line) => line.split(' ')[0])).toEqual(['198.51.100.1', '198.51.100.1'])
    const faults = provider.state().faults
    expect(faults).toHaveLength(1)
    expect(faults[0]?.message).toContain(words)
  })

  it('keeps the previous instances of a service beyond a bound, and takes in the others', () => {
    const { provider, publish, addresses } = setUp()
    publish(instance('a'))
    const before = addresses()
    const many = Array.from({ length: 1_001 }, (_, index) =>
      instance(`i${index}`, { addresses: [`198.51.${index >> 8}.${index & 255}`] }),
    )
    const other = { namespace: 'shop', name: 'other' }
    provider.publish({
      services: [
        { service: store, instances: many },
        { service: other, instances: [instance('o')] },
        { service: { namespace: 'shop', name: 'A B' }, instances: [] },
      ],
    })
    expect(addresses()).toEqual(before)
    expect(provider.listEndpointsForService(store).state).toBe('stale')
    expect(provider.listEndpointsForService(other)).toMatchObject({ state: 'known', items: [{ port: 80 }] })
    expect(provider.state().faults.map(({ code }) => code)).toEqual(['OSM_ENDPOINTS_BOUND', 'OSM_ENDPOINTS_ANSWER'])
  })

  it('bounds the instances of all services and the number of services', () => {
    const { provider } = setUp()
    const instances = Array.from({ length: 1_000 }, (_, index) => instance(`i${index}`))
    const named = (count: number, list: readonly unknown[]) =>
      Array.from({ length: count }, (_, index) => ({
        service: { namespace: 'shop', name: `s${index}` },
        instances: list,
      }))
    provider.publish({ services: named(11, instances) })
    expect(provider.state()).toMatchObject({
      services: 10,
      instances: 10_000,
      faults: [{ code: 'OSM_ENDPOINTS_BOUND' }],
    })
    provider.publish({ services: named(1_001, []) })
    expect(provider.state()).toMatchObject({ state: 'ok', services: 1_000, faults: [{ code: 'OSM_ENDPOINTS_BOUND' }] })
    provider.publish({ services: named(10_001, []) })
    expect(provider.state()).toMatchObject({ state: 'failing', services: 1_000 })
  })
})
