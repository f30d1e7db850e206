import { describe, expect, it } from '@jest/globals'

import { WorkerRegistry } from './worker-registry.js'

/** The count after these reports, one a second. */
function countAfter(...reports: readonly string[]): number {
  const workers = new WorkerRegistry(15_000)
  for (const [index, since] of reports.entries()) workers.report(since, index * 1000)
  return workers.count(reports.length * 1000)
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
    const workers = new WorkerRegistry(15_000)
    for (const [now, since] of [
      [0, 'a'],
      [1000, 'b'],
      [2000, 'a'],
    ] as const)
      workers.report(since, now)
    expect(workers.count(2000)).toBe(2)
    workers.report('a', 17_000)
    expect(workers.count(17_000)).toBe(1)
  })

  it('are not remembered without a bound', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `${index}`)
    const workers = new WorkerRegistry(15_000)
    for (const since of many) workers.report(since, 0)
    for (const since of many.slice(-16)) workers.report(since, 0)
    expect(workers.count(0)).toBe(16)
  })
})
