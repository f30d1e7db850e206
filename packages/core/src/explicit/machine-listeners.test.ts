import { describe, expect, it } from '@jest/globals'

import { OWN_LISTENERS } from '../machines/index.js'
import { MeshSnapshot } from '../snapshot/index.js'
import { objectKey, readObjects } from '../spec/index.js'
import { type MachineClaims, machineListeners, type MachineListeners } from './machine-listeners.js'

const service = (namespace: string, name: string, app = name): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace, name },
  spec: { selector: { app }, ports: [{ name: 'tcp-db', port: 5432 }] },
})
const many = (namespace: string, count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => service(namespace, `s${String(index).padStart(4, '0')}`))

/** Of a machine with room for ten listeners. */
function listenersFor(services: readonly object[], before: MachineClaims = {}): MachineListeners {
  const { objects } = readObjects(services.map((each) => JSON.stringify(each)).join('\n---\n'))
  expect(objects).toHaveLength(services.length)
  const snapshot = MeshSnapshot.empty().with(
    objects.map((after) => ({ key: objectKey(after), before: undefined, after })),
  )
  const machine = {
    namespace: 'shop',
    labels: { app: 'till' },
    address: '10.0.0.9',
    ports: [{ port: 5432 }],
    listeners: { first: 15100, last: 15100 + OWN_LISTENERS + 9 },
  }
  return machineListeners(machine, snapshot, before)
}

const own = [service('shop', 'till'), service('shop', 'stock')]
const isServed = ({ allocations }: MachineListeners): boolean => allocations?.inbound['shop/till|5432'] !== undefined
const called = ({ variables }: MachineListeners): readonly string[] =>
  Object.keys(variables).filter((name) => name.startsWith('OSM_TCP_'))

describe('listeners of a machine', () => {
  it('are there for its own namespace however many services another one has', () => {
    const found = listenersFor([...many('aaa', 50), ...own])
    expect(isServed(found)).toBe(true)
    expect(called(found)).toContain('OSM_TCP_STOCK_SHOP_5432')
    expect(found.missing).toHaveLength(42)
  })

  it('are taken back from services of another namespace that were there before', () => {
    const before = listenersFor(many('aaa', 50))
    const found = listenersFor([...many('aaa', 50), ...own], before.claims)
    expect(isServed(found)).toBe(true)
    expect(called(found)).toContain('OSM_TCP_STOCK_SHOP_5432')
    const kept = Object.entries(found.claims).filter(([purpose]) => purpose in before.claims)
    expect(kept.every(([purpose, port]) => before.claims[purpose] === port)).toBe(true)
  })

  it('are shared out among other namespaces', () => {
    const found = listenersFor([...many('aaa', 50), ...own, ...many('zzz', 2)])
    expect(called(found)).toEqual(expect.arrayContaining(['OSM_TCP_S0000_ZZZ_5432', 'OSM_TCP_S0001_ZZZ_5432']))
  })

  it('lead by a variable to the service of the own namespace where another one has a name of the same letters', () => {
    const found = listenersFor([service('a-shop', 'my'), service('shop', 'my-a')])
    const [key] = Object.keys(found.allocations?.outboundTcp ?? {})
    expect(called(found)).toEqual(['OSM_TCP_MY_A_SHOP_5432'])
    expect(key).toBe('shop/my-a|5432')
  })

  it('lead by a variable to no service of another namespace where a second one has a name of the same letters', () => {
    const [victim, attacker] = [service('zone', 'stock-b'), service('b-zone', 'stock')]
    const together = listenersFor([victim, attacker, service('other', 'db')])
    expect(called(together)).toEqual(['OSM_TCP_DB_OTHER_5432'])
    expect(together.withheld).toEqual(['OSM_TCP_STOCK_B_ZONE_5432'])
    // What is in use stays, so that a newcomer neither takes it over nor ends it.
    const before = listenersFor([victim])
    const after = listenersFor([victim, attacker], before.claims)
    expect(after.variables).toEqual(before.variables)
    expect(Object.keys(after.allocations?.outboundTcp ?? {})).toEqual(['zone/stock-b|5432'])
    expect(after.withheld).toEqual([])
  })
})
