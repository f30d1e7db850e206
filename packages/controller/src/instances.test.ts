import { describe, expect, it } from '@jest/globals'
import { objectKey, type KindMap, proxyKeyOfInstance, SnapshotBuilder, type SnapshotUpdate } from '@osm-ts/core'

import { SnapshotInstances } from './instances.js'

type Instance = KindMap['WorkloadInstance']

const uuid = 'c0ffee00-0000-4000-8000-000000000001'

function instance(namespace: string, name: string, account: string, createdAt = '2026-01-01T00:00:00Z'): Instance {
  return {
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'WorkloadInstance',
    metadata: { name, namespace, labels: {}, annotations: {} },
    spec: {
      uuid,
      workload: name,
      serviceAccountName: account,
      sidecarClass: 'envoy',
      mode: 'transparent',
      addresses: ['10.0.0.1'],
      ports: [],
      ready: true,
      createdAt,
    },
    origin: { kind: 'file', file: 'runtime.yaml', line: 1, column: 1 },
  }
}

function mesh(...first: readonly Instance[]) {
  const builder = new SnapshotBuilder(['test'])
  const listeners = new Set<(update: SnapshotUpdate) => void>()
  const change = (upserts: readonly Instance[], deletes: readonly Instance[] = []): void => {
    const update = builder.apply([{ source: 'test', upserts, deletes: deletes.map((object) => objectKey(object)) }])
    for (const listener of listeners) listener(update)
  }
  change(first)
  const instances = new SnapshotInstances({
    current: () => builder.snapshot,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    defaultClass: () => 'envoy',
  })
  const removed: string[] = []
  instances.onRemoved((proxies) => removed.push(...proxies))
  return { instances, removed, change }
}

describe('the workloads of a mesh', () => {
  const bank = instance('victim', 'bank-0', 'bank')
  const spoof = instance('aaa', 'spoof', 'mallory')

  it('are found by the whole identity of their proxy', () => {
    const { instances } = mesh(spoof, bank)
    expect(instances.instance(proxyKeyOfInstance(bank))?.name).toBe('bank-0')
    expect(instances.instance(proxyKeyOfInstance(spoof))?.name).toBe('spoof')
    expect(instances.instance(proxyKeyOfInstance(instance('victim', 'x', 'mallory')))).toBeUndefined()
  })

  it('take their proxy with them when they go or run under another account, and no other', () => {
    const { removed, change } = mesh(bank)
    change([spoof])
    change([], [spoof])
    expect(removed).toEqual([proxyKeyOfInstance(spoof)])
    change([instance('victim', 'bank-0', 'teller')])
    expect(removed.slice(1)).toEqual([proxyKeyOfInstance(bank)])
  })

  it('keep the proxy of a whole identity for as long as one of them has it', () => {
    const { removed, change } = mesh(bank, instance('victim', 'copy', 'bank'))
    change([], [bank])
    expect(removed).toEqual([])
  })

  it('say so where several of them have one whole identity', () => {
    const copy = instance('victim', 'a-copy', 'bank', '2026-01-02T00:00:00Z')
    const sharing = { owner: 'bank-0', count: 2, since: '2026-01-02T00:00:00Z' }
    expect(mesh(copy, bank, spoof).instances.instances()).toEqual([
      expect.not.objectContaining({ sharing: expect.anything() }),
      expect.objectContaining({ name: 'a-copy', sharing }),
      expect.objectContaining({ name: 'bank-0', sharing }),
    ])
  })
})
