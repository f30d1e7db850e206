import { describe, expect, it } from '@jest/globals'

import { lineThrough } from './limits.js'

describe('lineThrough', () => {
  it('gives what each proxy takes, and what there is without any', () => {
    const line = lineThrough([
      [1000, 60],
      [2000, 110],
      [4000, 210],
    ])
    expect(line).toEqual({ baseMiB: 10, perProxyKiB: 51.2, largestDeviation: 0 })
  })

  it('says how far sizes are from the line', () => {
    const { largestDeviation } = lineThrough([
      [1000, 10],
      [2000, 40],
      [3000, 90],
    ])
    // The line is 40 MiB for each thousand, less 33.3 MiB: 6.7 where 10 were measured.
    expect(largestDeviation).toBeCloseTo(1 / 3, 2)
  })

  it('refuses one size', () => {
    expect(() => lineThrough([[1, 1]])).toThrow(RangeError)
  })
})
