import { describe, expect, it } from '@jest/globals'

import { validateApplyReport } from '../validate-driver-data.js'
import { WorkTally } from './work-tally.js'

const report = { session: 's', revision: 1, complete: true, parts: [] }

describe('WorkTally', () => {
  it('adds up what is done between two reports', () => {
    const tally = new WorkTally()
    tally.queued(1)
    tally.queued(2)
    tally.translated(3)
    tally.encoded(4)
    tally.sent(5, 6)
    tally.sent(0.5, 4)
    const first = tally.on(report)
    expect(first).toEqual({ ...report, work: { queueMs: 3, translateMs: 3, encodeMs: 4, sendMs: 5.5, bytes: 10 } })
    expect(validateApplyReport(first)).toEqual([])
    expect(tally.on(report)).toBe(report)
  })

  it.each([
    ['less than nothing', { queueMs: -1 }, '/work/queueMs'],
    ['parts of a byte', { bytes: 0.5 }, '/work/bytes'],
  ])('is refused by the host if it says %s', (_what, wrong, pointer) => {
    const work = { queueMs: 0, translateMs: 0, encodeMs: 0, sendMs: 0, bytes: 0, ...wrong }
    expect(validateApplyReport({ ...report, work }).map((issue) => issue.pointer)).toEqual([pointer])
  })
})
