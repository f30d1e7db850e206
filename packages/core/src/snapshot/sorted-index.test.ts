import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { BucketMap } from './bucket-map.js'
import { compareObjects, SortedIndex, type Edit } from './sorted-index.js'

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly keys: readonly string[]
}

const item = fc
  .record({ namespace: fc.constantFrom('a', 'b'), name: fc.nat(300).map(String), keys: fc.subarray(['x', 'y', 'z']) })
  .map(({ namespace, name, keys }): Item => ({ metadata: { namespace, name }, keys }))

const nameOf = ({ metadata: { namespace, name } }: Item): string => `${namespace}/${name}`

describe('SortedIndex', () => {
  it('holds what a sort of everything would give, after large and small edits alike', () => {
    const batches = fc.tuple(
      fc.array(item, { maxLength: 300, size: 'max' }),
      fc.array(fc.array(item, { maxLength: 3 })),
    )
    fc.assert(
      fc.property(batches, fc.array(fc.nat(299)), ([first, others], removals) => {
        const truth = new Map<string, Item>()
        let index = SortedIndex.create<Item>(({ keys }) => keys)
        const apply = (changes: readonly (readonly [string, Item | undefined])[]): void => {
          const edits = new Map<string, Edit<Item>>()
          for (const [name, after] of changes) {
            edits.set(name, { before: edits.get(name)?.before ?? truth.get(name), after })
          }
          for (const [name, { after }] of edits)
            if (after === undefined) truth.delete(name)
            else truth.set(name, after)
          index = index.with(edits.values())
        }
        for (const batch of [first, ...others]) apply(batch.map((it) => [nameOf(it), it] as const))
        for (const number of removals) {
          const name = [...truth.keys()][number]
          if (name !== undefined) apply([[name, undefined]])
        }
        for (const key of ['x', 'y', 'z']) {
          const expected = [...truth.values()].filter(({ keys }) => keys.includes(key)).sort(compareObjects)
          expect(index.get(key)).toEqual(expected)
          expect(Object.isFrozen(index.get(key))).toBe(true)
        }
        const used = new Set([...truth.values()].flatMap(({ keys }) => keys))
        expect([...index.keys()].sort()).toEqual([...used].sort())
      }),
    )
  })

  it('leaves older versions alone and shares untouched lists', () => {
    const [one, two] = ['1', '2'].map((name): Item => ({ metadata: { namespace: 'a', name }, keys: [name] }))
    if (one === undefined || two === undefined) throw new Error('two items')
    const before = SortedIndex.create<Item>(({ keys }) => keys).with([{ before: undefined, after: one }])
    const after = before.with([{ before: undefined, after: two }])
    expect([before.get('2'), after.get('2')]).toEqual([[], [two]])
    expect(after.get('1')).toBe(before.get('1'))
    expect(after.with([])).toBe(after)
  })
})

describe('BucketMap', () => {
  it('is a map', () => {
    const edit = fc.tuple(fc.string({ maxLength: 3 }), fc.option(fc.nat(), { nil: undefined }))
    fc.assert(
      fc.property(fc.array(fc.array(edit)), (batches) => {
        const truth = new Map<string, number>()
        let map = BucketMap.empty<number>()
        for (const batch of batches) {
          const before = map
          const sizeBefore = before.size
          map = map.with(batch)
          expect(before.size).toBe(sizeBefore)
          for (const [key, value] of batch)
            if (value === undefined) truth.delete(key)
            else truth.set(key, value)
          expect(map.size).toBe(truth.size)
          expect(new Map([...map.keys()].map((key) => [key, map.get(key)]))).toEqual(truth)
        }
      }),
    )
  })
})
