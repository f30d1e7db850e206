import { join } from 'node:path'

import { ObjectDecoder, readObjects, type KindMap } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { parseIpv4Range } from '../netns/ipv4-range.js'
import { AddressAllocator } from './address-allocator.js'

const folder = temporaryFolders()
const newFile = (): string => join(folder(), 'addresses.json')
const openAllocator = (file: string, range = '10.190.1.0/24'): AddressAllocator =>
  new AddressAllocator(file, parseIpv4Range(range)!)

const decoder = new ObjectDecoder()

function service(name: string, spec: object = {}): KindMap['Service'] {
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'shop', name }, spec })
  const [object] = readObjects(text, { decoder }).objects
  if (object?.kind !== 'Service') throw new Error('expected a Service')
  return object
}

describe('AddressAllocator', () => {
  it('gives each service its own address, but none to headless ones and aliases', () => {
    const allocator = openAllocator(newFile())
    const services = [
      service('a'),
      service('b'),
      service('c', { clusterIP: 'None' }),
      service('d', { type: 'ExternalName', externalName: 'x' }),
    ]
    expect(allocator.assign(services)).toEqual([])
    expect(allocator.current()).toEqual({ 'shop/a': '10.190.1.1', 'shop/b': '10.190.1.2' })
  })

  it('remembers positions over restarts and in another range, and keeps those of services that are away', () => {
    const file = newFile()
    openAllocator(file).assign([service('a'), service('b')])
    const allocator = openAllocator(file, '10.190.7.0/24')
    allocator.assign([service('b'), service('c')])
    expect(allocator.current()).toEqual({ 'shop/b': '10.190.7.2', 'shop/c': '10.190.7.3' })
    allocator.assign([service('a'), service('b'), service('c')])
    expect(allocator.current()['shop/a']).toBe('10.190.7.1')
  })

  it('honours an address inside the range, no matter who has it so far, and finds one for a service that names another', () => {
    const allocator = openAllocator(newFile())
    allocator.assign([service('a')])
    allocator.assign([
      service('a'),
      service('b', { clusterIP: '10.190.1.1' }),
      service('c', { clusterIP: '10.96.0.10' }),
    ])
    expect(allocator.current()['shop/b']).toBe('10.190.1.1')
    expect(new Set(Object.values(allocator.current())).size).toBe(3)
    expect(allocator.current()['shop/c']).toMatch(/^10\.190\.1\./)
  })

  it('reports two services that name one address, and services for which none is left', () => {
    const allocator = openAllocator(newFile(), '10.190.1.0/30')
    const contested = [
      service('a', { clusterIP: '10.190.1.1' }),
      service('b', { clusterIP: '10.190.1.1' }),
      service('c'),
    ]
    expect(allocator.assign(contested)).toMatchObject([
      { code: 'OSM_STANDALONE_VIRTUAL_ADDRESS', object: { name: 'b' }, message: expect.stringContaining('shop/a') },
      { code: 'OSM_STANDALONE_VIRTUAL_ADDRESS', object: { name: 'c' }, message: expect.stringContaining('used up') },
    ])
  })

  it('takes the positions of services that are away when nothing else is left', () => {
    const allocator = openAllocator(newFile(), '10.190.1.0/30')
    allocator.assign([service('a'), service('b')])
    expect(allocator.assign([service('b'), service('c')])).toEqual([])
    expect(allocator.current()).toEqual({ 'shop/b': '10.190.1.2', 'shop/c': '10.190.1.1' })
  })

  it('announces changes only', () => {
    const allocator = openAllocator(newFile())
    let announced = 0
    allocator.subscribe(() => (announced += 1))
    allocator.assign([service('a')])
    allocator.assign([service('a')])
    expect(announced).toBe(1)
  })

  it('never gives one address twice, and never takes one from a service that stays', () => {
    const services = new Map(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, service(name)]))
    const names = fc.uniqueArray(fc.constantFrom(...services.keys()))
    fc.assert(
      fc.property(fc.array(names, { maxLength: 8 }), (sets) => {
        const allocator = openAllocator(newFile(), '10.190.1.0/29')
        let before: Readonly<Record<string, string>> = {}
        for (const set of sets) {
          expect(allocator.assign(set.map((name) => services.get(name)!))).toEqual([])
          const now = allocator.current()
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
