import { describe, expect, it } from '@jest/globals'

import { isLogEntry, isMeasurement, isMetricDeclaration } from './telemetry.js'

const metric = { kind: 'counter', name: 'a_total', help: 'h', labels: ['x'], buckets: [] }
const entry = { level: 'info', fields: {}, message: 'm' }

describe('telemetry of a driver', () => {
  it('is told apart by its members', () => {
    expect(isMetricDeclaration(metric)).toBe(true)
    expect(isMeasurement({ name: 'a_total', labels: { x: 'y' }, value: 1 })).toBe(true)
    expect(isLogEntry(entry)).toBe(true)
    expect(isLogEntry({ ...entry, level: 'loud' })).toBe(false)
  })

  it.each([{ toString: 1, valueOf: 2 }, ['counter'], null, 7])('is refused where a word is %j', (word) => {
    expect(isMetricDeclaration({ ...metric, kind: word })).toBe(false)
    expect(isLogEntry({ ...entry, level: word })).toBe(false)
  })
})
