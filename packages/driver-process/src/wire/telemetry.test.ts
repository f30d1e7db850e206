import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'

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

  it('is accepted as its published JSON Schemas say', () => {
    const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant('1'))
    const text = fc.oneof(fc.string(), fc.integer())
    const values: readonly [string, (value: unknown) => boolean, fc.Arbitrary<unknown>][] = [
      [
        'MetricDeclarations',
        isMetricDeclaration,
        fc.record({
          kind: fc.constantFrom('counter', 'gauge', 'histogram', 'sum'),
          name: text,
          help: text,
          labels: fc.array(text, { maxLength: 1 }),
          buckets: fc.array(number, { maxLength: 1 }),
        }),
      ],
      [
        'Measurements',
        isMeasurement,
        fc.record({ name: text, labels: fc.dictionary(fc.string(), text, { maxKeys: 1 }), value: number }),
      ],
      [
        'LogEntries',
        isLogEntry,
        fc.record({
          level: fc.constantFrom('debug', 'info', 'warn', 'error', 'fatal'),
          fields: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 1 }), fc.array(fc.string())),
          message: text,
        }),
      ],
    ]
    for (const [name, accepts, arbitrary] of values) {
      const path = join(import.meta.dirname, `../../../driver-api/schemas/${name}.json`)
      const fits = new Ajv2020({ strict: true }).compile(JSON.parse(readFileSync(path, 'utf8')) as object)
      fc.assert(
        fc.property(arbitrary, (value) => expect(accepts(value)).toBe(fits([value]))),
        { numRuns: 300 },
      )
    }
  })

  it.each([{ toString: 1, valueOf: 2 }, ['counter'], null, 7])('is refused where a word is %j', (word) => {
    expect(isMetricDeclaration({ ...metric, kind: word })).toBe(false)
    expect(isLogEntry({ ...entry, level: word })).toBe(false)
  })
})
