import { join } from 'node:path'

import { ObjectDecoder, readObjects, type KindMap } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { parseIpv4Range } from '../netns/ipv4-range.js'
import { AddressLedger } from './address-ledger.js'

const folder = temporaryFolders()
const newFile = (): string => join(folder(), 'addresses.json')
const openLedger = (file: string, range = '10.190.1.0/24'): AddressLedger =>
  new AddressLedger(file, parseIpv4Range(range)!)

const decoder = new ObjectDecoder()

function service(name: string, spec: object = {}): KindMap['Service'] {
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name }, spec })
  const [object] = readObjects(text, { decoder }).objects
  if (object?.kind !== 'Service') throw new Error('expected a Service')
  return object
}

describe('AddressLedger', () => {
  it('gives each service an address of its own, but none to headless ones and aliases', () => {
    const ledger = openLedger(newFile())
    const services = [
      service('a'),
      service('b'),
      service('c', { clusterIP: 'None' }),
      service('d', { type: 'ExternalName', externalName: 'x' }),
    ]
    expect(ledger.assign(services)).toEqual([])
    expect(ledger.current()).toEqual({ 'shop/a': '10.190.1.1', 'shop/b': '10.190.1.2' })
  })

  it('remembers positions over restarts and in another range, and keeps those of services that are away', () => {
    const file = newFile()
    openLedger(file).assign([service('a'), service('b')])
    const ledger = openLedger(file, '10.190.7.0/24')
    ledger.assign([service('b'), service('c')])
    expect(ledger.current()).toEqual({ 'shop/b': '10.190.7.2', 'shop/c': '10.190.7.3' })
    ledger.assign([service('a'), service('b'), service('c')])
    expect(ledger.current()['shop/a']).toBe('10.190.7.1')
  })

  it('honours an address inside the range, whoever has it so far, and finds one for a service that names another', () => {
    const ledger = openLedger(newFile())
    ledger.assign([service('a')])
    ledger.assign([service('a'), service('b', { clusterIP: '10.190.1.1' }), service('c', { clusterIP: '10.96.0.10' })])
    expect(ledger.current()['shop/b']).toBe('10.190.1.1')
    expect(new Set(Object.values(ledger.current())).size).toBe(3)
    expect(ledger.current()['shop/c']).toMatch(/^10\.190\.1\./)
  })

  it('reports two services that name one address, and services for which none is left', () => {
    const ledger = openLedger(newFile(), '10.190.1.0/30')
    const contested = [
      service('a', { clusterIP: '10.190.1.1' }),
      service('b', { clusterIP: '10.190.1.1' }),
      service('c'),
    ]
    expect(ledger.assign(contested)).toMatchObject([
      { code: 'OSM_STANDALONE_VIRTUAL_ADDRESS', object: { name: 'b' }, message: expect.stringContaining('shop/a') },
      { code: 'OSM_STANDALONE_VIRTUAL_ADDRESS', object: { name: 'c' }, message: expect.stringContaining('used up') },
    ])
  })

  it('takes the positions of services that are away when nothing else is left', () => {
    const ledger = openLedger(newFile(), '10.190.1.0/30')
    ledger.assign([service('a'), service('b')])
    expect(ledger.assign([service('b'), service('c')])).toEqual([])
    expect(ledger.current()).toEqual({ 'shop/b': '10.190.1.2', 'shop/c': '10.190.1.1' })
  })

  it('announces changes only', () => {
    const ledger = openLedger(newFile())
    let announced = 0
    ledger.subscribe(() => (announced += 1))
    ledger.assign([service('a')])
    ledger.assign([service('a')])
    expect(announced).toBe(1)
  })

  it('never gives one address twice, and never takes one from a service that stays', () => {
    const services = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, service(name)]))
    const names = fc.uniqueArray(fc.constantFrom(...services.keys()))
    fc.assert(
      fc.property(fc.array(names, { maxLength: 8 }), (sets) => {
        const ledger = openLedger(newFile(), '10.190.1.0/29')
        let before: Readonly<Record<string, string>> = {}
        for (const set of sets) {
          expect(ledger.assign(set.map((name) => services.get(name)!))).toEqual([])
          const now = ledger.current()
          expect(Object.keys(now)).toEqual(set.map((name) => `shop/${name}`).sort())
          expect(new Set(Object.values(now)).size).toBe(set.length)
          for (const name of Object.keys(now)) if (name in before) expect(now[name]).toBe(before[name])
          before = now
        }
      }),
      { numRuns: 50 },
    )
  })
})
