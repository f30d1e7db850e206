import { describe, expect, it } from '@jest/globals'
import { countReport } from './try-drivers.mjs'

const report = (passed: number, failed: number): string =>
  `summary:\n  passed: ${passed}\n  failed: ${failed}\n  notClaimed: 7\n`

describe('the count of a conformance report', () => {
  it('is what passed and what failed; what is not claimed does not count', () => {
    expect(countReport(report(3, 0), 0)).toEqual({ passed: 3, failed: 0, skipped: 0 })
    expect(countReport(report(3, 2), 1)).toEqual({ passed: 3, failed: 2, skipped: 0 })
  })

  it('has a failure for a run that tried nothing, said nothing, or ended in a way that its report does not explain', () => {
    for (const [text, code] of [
      [undefined, 2],
      [undefined, 0],
      [report(0, 0), 0],
    ] as const)
      expect(countReport(text, code)).toEqual({ passed: 0, failed: 1, skipped: 0 })
    expect(countReport(report(3, 0), 1)).toEqual({ passed: 3, failed: 1, skipped: 0 })
  })
})
