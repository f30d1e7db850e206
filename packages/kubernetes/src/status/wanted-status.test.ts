import { describe, expect, it } from '@jest/globals'
import type { ProxyStatus } from '@osm-ts/core'

import { summarizeRefusals } from './wanted-status.js'

/** A proxy of a namespace that refuses objects of a namespace. */
function refusing(namespace: string, objects: readonly { readonly namespace: string; readonly name: string }[]) {
  const status: ProxyStatus = {
    uuid: namespace,
    name: `${namespace}/store-0`,
    identity: `store.${namespace}`,
    class: 'envoy',
    connected: true,
    ready: true,
    state: 'rejected',
    revision: 1,
    appliedRevision: 0,
    rejected: objects.map((object) => ({
      kind: 'ingress',
      id: object.name,
      message: 'no such filter',
      sources: [{ object: { kind: 'Egress', ...object }, field: 'spec' }],
    })),
    denied: [],
    conditions: [],
  }
  return status
}

const objectsOf = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ namespace, name: `e${index}` }))

describe('refusals of sidecars', () => {
  it('concern objects of the namespace of the sidecar only', () => {
    const [victim] = objectsOf('shop', 1)
    expect(summarizeRefusals([refusing('aaa', objectsOf('shop', 1))])).toEqual([])
    expect(summarizeRefusals([refusing('shop', objectsOf('shop', 1))])).toMatchObject([
      { object: `Egress/shop/${victim?.name}`, count: 1 },
    ])
  })

  it('concern objects of no namespace whatever the namespace of the sidecar', () => {
    const plugin = { namespace: '', name: 'rules' }
    expect(summarizeRefusals([refusing('aaa', [plugin]), refusing('shop', [plugin])])).toMatchObject([
      { object: 'Egress//rules', count: 2 },
    ])
  })

  it('of one namespace leave room for those of others', () => {
    const refusals = summarizeRefusals([
      refusing('aaa', objectsOf('aaa', 5_000)),
      refusing('shop', objectsOf('shop', 3)),
      refusing('zzz', objectsOf('zzz', 5_000)),
    ])
    expect(refusals).toHaveLength(1_000)
    expect(refusals.map(({ object }) => object).filter((object) => object.startsWith('Egress/shop/'))).toHaveLength(3)
  })
})
