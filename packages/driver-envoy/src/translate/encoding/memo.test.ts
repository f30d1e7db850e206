import { describe, expect, it } from '@jest/globals'

import { Memo } from './memo.js'

/** A memo with two layers: totals are made of squares. */
function calculator() {
  const memo = new Memo()
  const squares = memo.table<number>()
  const totals = memo.table<{ readonly total: number }>()
  let squared = 0
  const square = (n: number): number =>
    squares.get(String(n), () => {
      squared += 1
      return n * n
    })
  const total = (...numbers: readonly number[]): { readonly total: number } =>
    totals.get(numbers.join(), () => ({ total: numbers.reduce((sum, n) => sum + square(n), 0) }))
  return { memo, total, square, squared: () => squared }
}

describe('Memo', () => {
  it('builds a result once for all that hold it', () => {
    const { memo, total, squared } = calculator()
    const first = memo.lease(() => total(1, 2))
    const second = memo.lease(() => total(1, 2))
    expect(second.value).toBe(first.value)
    expect(squared()).toBe(2)
  })

  it('keeps what a result was built from as long as the result', () => {
    const { memo, total, squared } = calculator()
    const first = memo.lease(() => total(1, 2))
    const second = memo.lease(() => total(2, 3))
    expect(squared()).toBe(3)
    first.release()
    memo.lease(() => total(2, 4))
    expect(squared()).toBe(4)
    second.release()
  })

  it('forgets what no one holds', () => {
    const { memo, total } = calculator()
    const leases = [memo.lease(() => total(1, 2)), memo.lease(() => total(1, 2)), memo.lease(() => total(3))]
    expect(memo.size).toBe(5)
    for (const lease of leases) lease.release()
    expect(memo.size).toBe(0)
  })

  it('takes a second release of one lease for none', () => {
    const { memo, total } = calculator()
    const first = memo.lease(() => total(1))
    memo.lease(() => total(1))
    first.release()
    first.release()
    expect(memo.size).toBe(2)
  })

  it('counts a result once however often a builder requests it', () => {
    const { memo, square } = calculator()
    const lease = memo.lease(() => square(2) + square(2))
    expect(lease.value).toBe(8)
    lease.release()
    expect(memo.size).toBe(0)
  })

  it('releases everything when a builder throws', () => {
    const { memo, square } = calculator()
    const attempt = (): unknown =>
      memo.lease(() => {
        square(2)
        throw new Error('broken')
      })
    expect(attempt).toThrow('broken')
    expect(memo.size).toBe(0)
  })

  it('refuses to give what no one would hold', () => {
    const { square } = calculator()
    expect(() => square(2)).toThrow(TypeError)
  })
})
