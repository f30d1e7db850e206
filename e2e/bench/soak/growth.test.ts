import { describe, expect, it } from '@jest/globals'

import { growthOf, type Samples } from './growth.js'

const around = (mean: number, spread: number, descriptors = 40): Samples => ({
  kibibytes: [-1, -0.5, 0, 0.5, 1].map((part) => mean + part * spread),
  descriptors: Array.from({ length: 5 }, () => descriptors),
})

describe('growthOf', () => {
  it('passes what stays as it is, and what the samples vary by anyway', () => {
    expect(growthOf(around(50_000, 0), around(50_000, 0), 20, 8)).toMatchObject({
      perCycle: { mean: 0, low: 0, high: 0 },
      passed: true,
    })
    // 20 KiB a cycle are as likely an accident as not where samples vary by 500.
    expect(growthOf(around(50_000, 500), around(50_400, 500), 20, 8)).toMatchObject({ passed: true })
  })

  it('fails if each cycle leaves more than the limit', () => {
    const growth = growthOf(around(50_000, 100), around(50_600, 100), 20, 8)
    expect(growth).toMatchObject({ atN: 50_000, at2N: 50_600, passed: false })
    expect(growth.perCycle.mean).toBe(30)
    // The standard error of either mean is 35.4, so that of the difference 50; Student's t of 8 degrees of freedom is 2.31.
    expect(growth.perCycle.low).toBeCloseTo(30 - (2.31 * 50) / 20, 2)
    expect(growth.perCycle.high).toBeCloseTo(30 + (2.31 * 50) / 20, 2)
  })

  it('passes if it shrinks, or grows by less than the limit', () => {
    expect(growthOf(around(50_000, 10), around(40_000, 10), 20, 8).passed).toBe(true)
    expect(growthOf(around(50_000, 10), around(50_100, 10), 20, 8).passed).toBe(true)
  })

  it('fails descriptors that are left, and forgives those that are about to go', () => {
    expect(growthOf(around(50_000, 10, 40), around(50_000, 10, 43), 20, 8).passed).toBe(false)
    const leaving = { ...around(50_000, 10), descriptors: [61, 61, 61, 41, 61] }
    expect(growthOf(around(50_000, 10, 40), leaving, 20, 8)).toMatchObject({
      descriptors: { atN: 40, at2N: 41 },
      passed: true,
    })
  })

  it('refuses a single sample, which says nothing of how samples vary', () => {
    expect(() => growthOf({ kibibytes: [1], descriptors: [1] }, around(1, 1), 20, 8)).toThrow(RangeError)
  })
})
