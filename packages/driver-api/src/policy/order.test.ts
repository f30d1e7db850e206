import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { jsonValue } from '../../test/arbitraries.js'
import { compareBy, compareCanonical, compareText, firstUnsorted } from './order.js'

describe('compareText', () => {
  it('is a strict order', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (a, b, c) => {
          expect(compareText(a, b)).toBe(-compareText(b, a) || 0)
          expect(compareText(a, b) === 0).toBe(a === b)
          if (compareText(a, b) < 0 && compareText(b, c) < 0) expect(compareText(a, c)).toBe(-1)
        },
      ),
    )
  })

  it('knows no language', () => {
    expect(['é', 'z', 'Z', 'a', '|', '-'].sort(compareText)).toEqual(['-', 'Z', 'a', 'z', '|', 'é'])
  })
})

describe('compareCanonical', () => {
  it('finds values equal that mean the same', () => {
    expect(compareCanonical({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(0)
  })

  it('agrees with itself turned round', () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (a, b) => {
        expect(compareCanonical(a, b)).toBe(-compareCanonical(b, a) || 0)
      }),
    )
  })
})

describe('compareBy', () => {
  it('asks the next key only where the earlier ones are equal', () => {
    const compare = compareBy<readonly [number, number]>(
      (a, b) => a[0] - b[0],
      (a, b) => a[1] - b[1],
    )
    expect(
      [
        [2, 1],
        [1, 2],
        [1, 1],
      ].sort((a, b) => compare(a as [number, number], b as [number, number])),
    ).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ])
  })
})

describe('firstUnsorted', () => {
  it.each([
    [[], -1],
    [['a'], -1],
    [['a', 'b'], -1],
    [['b', 'a'], 1],
    [['a', 'b', 'b'], 2],
  ])('of %j is %p', (items, index) => {
    expect(firstUnsorted(items, compareText)).toBe(index)
  })

  it('finds nothing exactly in lists that are sorted and unique', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (items) => {
        const tidy = [...new Set(items)].sort(compareText)
        expect(firstUnsorted(items, compareText) === -1).toBe(JSON.stringify(items) === JSON.stringify(tidy))
      }),
    )
  })
})
