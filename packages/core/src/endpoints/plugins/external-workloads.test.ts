import { describe, expect, it } from '@jest/globals'

import { SnapshotBuilder, type SnapshotUpdate } from '../../snapshot/index.js'
import { makeObjectKey, ObjectDecoder, readObjects } from '../../spec/index.js'
import { AddressRules } from './address-rules.js'
import { ExternalWorkloads } from './external-workloads.js'

const decoder = new ObjectDecoder()
const store = { namespace: 'shop', name: 'store' }
const service = (name: string, namespace = 'shop') => `
apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: ${namespace} }
spec: { clusterIP: 10.200.0.1, selector: { app: ${name} }, ports: [{ name: http, port: 80 }] }
`
const workload = (name: string, spec: string, app = 'none', namespace = 'shop') => `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: ExternalWorkload
metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${app}, topology.kubernetes.io/region: north } }
spec: { ${spec} }
`

function setUp() {
  const builder = new SnapshotBuilder(['test'])
  const listeners: ((update: SnapshotUpdate) => void)[] = []
  const write = (texts: readonly string[], removed: readonly string[] = []): void => {
    const { objects, problems } = readObjects(texts.join('---'), { decoder })
    expect(problems).toEqual([])
    const deletes = removed.map((name) => makeObjectKey('ExternalWorkload', 'shop', name))
    const update = builder.apply([{ source: 'test', upserts: objects, deletes }])
    for (const listener of listeners) listener(update)
  }
  const workloads = new ExternalWorkloads({
    rules: new AddressRules({ allowLoopback: false, refused: [] }),
    current: () => builder.snapshot,
    subscribe: (added) => {
      listeners.push(added)
      return () => undefined
    },
    now: () => 1_000,
  })
  workloads.start()
  const endpoints = (name = store) => workloads.provider.listEndpointsForService(name).items
  const addresses = (name = store) => endpoints(name).map(({ address, port }) => `${address} ${port}`)
  return { workloads, write, endpoints, addresses }
}

describe('ExternalWorkload', () => {
  it('is an endpoint of the Service that it names, and else of those that select its labels', () => {
    const { workloads, write, endpoints, addresses } = setUp()
    write([
      service('store'),
      service('press'),
      workload('named', 'addresses: [198.51.100.1], service: store', 'press'),
      workload(
        'selected',
        'addresses: [198.51.100.2], ports: [{ name: http, port: 8080 }], serviceAccount: seller, weight: 7, sidecar: { class: envoy }',
        'store',
      ),
      workload('elsewhere', 'addresses: [198.51.100.3], service: store', 'store', 'other'),
    ])
    expect(addresses()).toEqual(['198.51.100.1 80', '198.51.100.2 8080'])
    expect(addresses({ namespace: 'shop', name: 'press' })).toEqual([])
    expect(endpoints()).toMatchObject([
      { account: { namespace: 'shop', name: 'default' }, sidecar: undefined, weight: 100 },
      {
        account: { namespace: 'shop', name: 'seller' },
        sidecar: { class: 'envoy' },
        weight: 7,
        locality: { region: 'north' },
      },
    ])
    expect(workloads.problems()).toEqual([])
  })

  it('comes, drains and goes with its object', () => {
    const { write, addresses } = setUp()
    write([service('store'), workload('a', 'addresses: [198.51.100.1], service: store')])
    expect(addresses()).toEqual(['198.51.100.1 80'])
    write([workload('a', 'addresses: [198.51.100.1], service: store, ready: false')])
    expect(addresses()).toEqual([])
    write([workload('a', 'addresses: ["2001:db8::1"], service: store')])
    expect(addresses()).toEqual(['2001:db8::1 80'])
    write([], ['a'])
    expect(addresses()).toEqual([])
  })

  it.each(['127.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '10.200.0.1', '168.63.129.16'])(
    'with address %s is refused, with a problem of the object',
    (address) => {
      const { workloads, write, addresses } = setUp()
      write([
        service('store'),
        workload('bad', `addresses: ["${address}"], service: store`),
        workload('good', 'addresses: [198.51.100.1], service: store'),
      ])
      expect(addresses()).toEqual(['198.51.100.1 80'])
      expect(workloads.problems()).toMatchObject([
        {
          code: 'OSM_ENDPOINTS_ADDRESS',
          severity: 'error',
          object: { kind: 'ExternalWorkload', namespace: 'shop', name: 'bad' },
          field: 'spec.addresses',
        },
      ])
    },
  )

  it.each(['127.0.0.1', '169.254.169.254', '10.200.0.1'])(
    'whose gateway has the address %s is refused, with a problem of the object',
    (address) => {
      const { workloads, write, addresses, endpoints } = setUp()
      const behind = (gateway: string) =>
        `addresses: [192.168.0.7], service: store, network: { name: onprem, gateway: { address: "${gateway}" } }`
      write([service('store'), workload('bad', behind(address)), workload('good', behind('198.51.100.9'))])
      expect(addresses()).toEqual(['192.168.0.7 80'])
      expect(endpoints()).toMatchObject([{ network: { name: 'onprem', gateway: { address: '198.51.100.9' } } }])
      expect(workloads.problems()).toMatchObject([
        { code: 'OSM_ENDPOINTS_ADDRESS', object: { name: 'bad' }, field: 'spec.network.gateway.address' },
      ])
    },
  )

  it('counts up to a bound for each namespace, and never at the cost of another', () => {
    const { workloads, write, addresses } = setUp()
    const many = Array.from({ length: 1_003 }, (_, index) =>
      workload(`w${index}`, `addresses: [198.51.${100 + (index >> 8)}.${index & 255}], service: store`),
    )
    write([service('store'), ...many, service('store', 'other')])
    write([workload('w', 'addresses: [198.51.100.1], service: store', 'x', 'other')])
    expect(addresses()).toHaveLength(1_000)
    expect(addresses({ namespace: 'other', name: 'store' })).toEqual(['198.51.100.1 80'])
    expect(workloads.problems().map(({ code, object }) => `${code} ${object?.namespace}`)).toEqual(
      Array.from({ length: 3 }, () => 'OSM_ENDPOINTS_BOUND shop'),
    )
  })
})
