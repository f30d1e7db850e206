import { describe, expect, it } from '@jest/globals'

import { MeshSnapshot, type Snapshot } from '../snapshot/index.js'
import { objectKey, readObjects } from '../spec/index.js'
import { MAX_NAMED_SERVICES } from './messages.js'
import { ServiceNamesIndex } from './service-names-index.js'

function snapshotOf(
  services: readonly (readonly [string, object])[],
  from: MeshSnapshot = MeshSnapshot.empty(),
  namespace = 'shop',
) {
  const documents = services.map(([name, spec]) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { ports: [{ port: 80 }], ...spec },
  }))
  const { objects } = readObjects(documents.map((document) => JSON.stringify(document)).join('\n---\n'))
  expect(objects).toHaveLength(services.length)
  return from.with(objects.map((after) => ({ key: objectKey(after), before: undefined, after })))
}

const namesOf = (snapshot: Snapshot) => new ServiceNamesIndex('cluster.local').of(snapshot)

describe('ServiceNamesIndex', () => {
  it('names Services by their virtual addresses, of both families', () => {
    const { services, clusterDomain } = namesOf(
      snapshotOf([
        ['store', { clusterIP: '10.96.0.7' }],
        ['both', { clusterIP: '10.96.0.8', clusterIPs: ['10.96.0.8', 'fd00::8'] }],
      ]),
    )
    expect(clusterDomain).toBe('cluster.local')
    expect(services).toEqual([
      { namespace: 'shop', name: 'both', addresses: ['10.96.0.8', 'fd00::8'] },
      { namespace: 'shop', name: 'store', addresses: ['10.96.0.7'] },
    ])
  })

  it('names no Service that is headless, has no address, or is an alias', () => {
    const { services } = namesOf(
      snapshotOf([
        ['headless', { clusterIP: 'None' }],
        ['new', {}],
        ['alias', { type: 'ExternalName', externalName: 'example.com', clusterIP: '10.96.0.9' }],
      ]),
    )
    expect(services).toEqual([])
  })

  it('keeps its digest while the Services are the same, and changes it with an address', () => {
    const index = new ServiceNamesIndex('cluster.local')
    const before = index.of(snapshotOf([['store', { clusterIP: '10.96.0.7' }]]))
    expect(index.of(snapshotOf([['store', { clusterIP: '10.96.0.7' }]])).digest).toBe(before.digest)
    expect(index.of(snapshotOf([['store', { clusterIP: '10.96.0.8' }]])).digest).not.toBe(before.digest)
  })

  it('gathers once for each list of Services', () => {
    const index = new ServiceNamesIndex('cluster.local')
    const snapshot = snapshotOf([['store', { clusterIP: '10.96.0.7' }]])
    expect(index.of(snapshot)).toBe(index.of(snapshot))
  })

  it('is bounded', () => {
    const many = Array.from({ length: MAX_NAMED_SERVICES + 1 }, (_, n) => {
      const address = `10.96.${String(n >> 8)}.${String(n & 255)}`
      return [`s${String(n)}`, { clusterIP: address }] as const
    })
    expect(namesOf(snapshotOf(many)).services).toHaveLength(MAX_NAMED_SERVICES)
  })

  it('leaves names of other namespaces in place when one namespace has more Services than are told', () => {
    const many = Array.from({ length: MAX_NAMED_SERVICES + 1 }, (_, n) => {
      const address = `10.96.${String(n >> 8)}.${String(n & 255)}`
      return [`s${String(n)}`, { clusterIP: address }] as const
    })
    const other = [
      ['bank', { clusterIP: '10.97.0.1' }],
      ['till', { clusterIP: '10.97.0.2' }],
    ] as const
    const { services } = namesOf(snapshotOf(other, snapshotOf(many), 'zzz'))
    expect(services).toHaveLength(MAX_NAMED_SERVICES)
    expect(services.slice(-2).map(({ namespace, name }) => `${namespace}/${name}`)).toEqual(['zzz/bank', 'zzz/till'])
  })
})
