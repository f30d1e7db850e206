import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { formatDuration, parseDuration } from './duration.js'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['24h', 86_400_000],
    ['1h30m', 5_400_000],
    ['1m30s', 90_000],
    ['90s', 90_000],
    ['1.5s', 1500],
    ['.5s', 500],
    ['1.s', 1000],
    ['250ms', 250],
    ['1ms', 1],
    ['1us', 1],
    ['1µs', 1],
    ['1μs', 1],
    ['1ns', 1],
    ['1500us', 2],
    ['0.1s0.2s', 300],
    ['+5s', 5000],
    ['-5s', -5000],
    ['-0s', 0],
    ['3s2s', 5000],
    ['2562047h', 9_223_369_200_000],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds)
  })

  it.each([
    '',
    ' ',
    '5',
    '1.5',
    's',
    '-',
    '+',
    '.',
    '.s',
    '1d',
    '1h ',
    ' 1h',
    '1H',
    '1h-30m',
    '1e3s',
    '1h30',
    'abc',
    '1 s',
    '1,5s',
    '2562048h',
    '9'.repeat(400) + 'h',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  it('rounds the longest duration to one that it reads back', () => {
    const longest = parseDuration('9223372036854775807ns')
    expect(longest).toBe(9_223_372_036_854)
    expect(parseDuration(formatDuration(longest ?? 0))).toBe(longest)
  })

  it('reads back what formatDuration writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e12, max: 1e12 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds)
      }),
    )
  })

  it('writes as Go does', () => {
    expect([0, 250, 1500, 90_000, 3_600_000, 5_400_000, -60_000].map(formatDuration)).toEqual([
      '0s',
      '250ms',
      '1.5s',
      '1m30s',
      '1h0m0s',
      '1h30m0s',
      '-1m0s',
    ])
  })

  it('never throws and never gives what is not a number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.hms+-]{0,12}$/)), (text) => {
        const milliseconds = parseDuration(text)
        expect(milliseconds === undefined || Number.isInteger(milliseconds)).toBe(true)
      }),
    )
  })
})
