import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { objectKey, objectNameOf, ObjectStore } from './object-store.js'

describe('a store of objects', () => {
  it('has the same objects under every index as a search through all of them finds', () => {
    const key = fc.constantFrom('a/1', 'a/2', 'b/1', '/c')
    const item = fc.option(fc.uniqueArray(fc.constantFrom('x', 'y', 'z')), { nil: undefined })
    fc.assert(
      fc.property(fc.array(fc.tuple(key, item), { maxLength: 40 }), (writes) => {
        const store = new ObjectStore<readonly string[]>({ values: (values) => values })
        const expected = new Map<string, readonly string[]>()
        for (const [name, values] of writes) {
          if (values === undefined) {
            store.delete(name)
            expected.delete(name)
          } else {
            store.set(name, values)
            expected.set(name, values)
          }
        }
        expect(store.size).toBe(expected.size)
        for (const value of ['x', 'y', 'z']) {
          const found = [...expected.values()].filter((values) => values.includes(value))
          expect(new Set(store.byIndex('values', value))).toEqual(new Set(found))
        }
      }),
    )
  })

  it('finds an object once by a value that it has twice', () => {
    const store = new ObjectStore<readonly string[]>({ values: (values) => values })
    store.set('a/1', ['x', 'x'])
    expect(store.byIndex('values', 'x')).toHaveLength(1)
    store.set('a/1', [])
    expect(store.byIndex('values', 'x')).toEqual([])
  })

  it.each([
    { namespace: 'a', name: 'b' },
    { namespace: '', name: 'b' },
  ])('takes keys apart again: %p', (name) => {
    expect(objectNameOf(objectKey(name))).toEqual(name)
  })

  it('adds less than 300 bytes to an object in three indexes', () => {
    const count = 20_000
    const items = Array.from({ length: count }, (_, index) => ({
      uuid: `uuid-${String(index)}`,
      ip: `10.0.0.${String(index)}`,
      account: `account-${String(index % 50)}`,
    }))
    const names = items.map((_, index) => `namespace-${String(index % 50)}/pod-${String(index)}`)
    const before = heapUsed()
    const store = new ObjectStore<(typeof items)[number]>({
      uuid: ({ uuid }) => [uuid],
      ip: ({ ip }) => [ip],
      account: ({ account }) => [account],
    })
    for (const [index, item] of items.entries()) store.set(names[index]!, item)
    expect((heapUsed() - before) / count).toBeLessThan(300)
    expect(store.byIndex('account', 'account-7')).toHaveLength(count / 50)
  })
})

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
