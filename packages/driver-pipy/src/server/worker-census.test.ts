import { describe, expect, it } from '@jest/globals'

import { WorkerCensus } from './worker-census.js'

/** The count after these reports, one a second. */
function countAfter(...reports: readonly string[]): number {
  const census = new WorkerCensus(15_000)
  for (const [index, since] of reports.entries()) census.report(since, index * 1000)
  return census.count(reports.length * 1000)
}

describe('the workers of one certificate', () => {
  it.each([
    ['none is counted as one', [], 1],
    ['one', ['a', 'a', 'a'], 1],
    ['one that was started again', ['a', 'a', 'b', 'b', 'b'], 1],
    ['two', ['a', 'b', 'a'], 2],
    ['three', ['a', 'b', 'c', 'a', 'b', 'c'], 3],
  ] as const)('%s', (_what, reports, count) => {
    expect(countAfter(...reports)).toBe(count)
  })

  it('are as many as are heard of', () => {
    const census = new WorkerCensus(15_000)
    for (const [now, since] of [
      [0, 'a'],
      [1000, 'b'],
      [2000, 'a'],
    ] as const)
      census.report(since, now)
    expect(census.count(2000)).toBe(2)
    census.report('a', 17_000)
    expect(census.count(17_000)).toBe(1)
  })

  it('are not remembered without a bound', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `${index}`)
    const census = new WorkerCensus(15_000)
    for (const since of many) census.report(since, 0)
    for (const since of many.slice(-16)) census.report(since, 0)
    expect(census.count(0)).toBe(16)
  })
})
