import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { findOwner, isOwnerRunning, ownerMark, ownerMetric, parseOwnerMark, parseOwnerMetric } from './owner.js'

const owners = fc.record({ pid: fc.integer({ min: 1, max: 2 ** 22 - 1 }), started: fc.integer({ min: 0, max: 1023 }) })

describe('owner marks', () => {
  it('read back, in seven characters and in 32 bits at the most', () => {
    fc.assert(
      fc.property(owners, (owner) => {
        expect(parseOwnerMark(ownerMark(owner))).toEqual(owner)
        expect(ownerMark(owner).length).toBeLessThanOrEqual(7)
        expect(parseOwnerMetric(ownerMetric(owner))).toEqual(owner)
        expect(ownerMetric(owner)).toBeLessThan(2 ** 32)
      }),
    )
  })

  it.each(['', 'a', '00', '000', '1zz', 'A00', '12345678', '1.0'])('are not read into %j', (text) => {
    expect(parseOwnerMark(text)).toBeUndefined()
  })

  it('give two processes two names', () => {
    fc.assert(
      fc.property(owners, owners, (one, two) => {
        const same = one.pid === two.pid && one.started === two.started
        expect(ownerMark(one) === ownerMark(two)).toBe(same)
        expect(ownerMetric(one) === ownerMetric(two)).toBe(same)
      }),
    )
  })
})

if (process.platform === 'linux') {
  describe('findOwner', () => {
    it('finds this process, and tells it from another one of its number', () => {
      const self = findOwner(process.pid)
      expect(self).toMatchObject({ pid: process.pid })
      expect(isOwnerRunning(self!)).toBe(true)
      expect(isOwnerRunning({ ...self!, started: (self!.started + 1) % 1024 })).toBe(false)
    })

    it('finds no process of a number that none can have', () => {
      expect(findOwner(2 ** 22)).toBeUndefined()
      expect(isOwnerRunning({ pid: 2 ** 22, started: 0 })).toBe(false)
    })
  })
}
