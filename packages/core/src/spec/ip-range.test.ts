import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { coversRange, IpRangeSet, parseIpRange, type IpRange } from './ip-range.js'

function range(text: string): IpRange {
  const parsed = parseIpRange(text)
  if (parsed === undefined) throw new Error(`${text} is a range`)
  return parsed
}

describe('parseIpRange', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['10.1.2.255/31', '10.1.2.254/31'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['fd00:0:0:1::/33', 'fd00::/33'],
    ['FD00:00:0::0001', 'fd00::1/128'],
    ['::/0', '::/0'],
  ])('writes %s as %s', (text, canonical) => {
    expect(parseIpRange(text)?.text).toBe(canonical)
  })

  it.each(['', 'here', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/08', 'fe80::1%eth0', '10.0.0.0/8/8'])(
    'refuses %j',
    (text) => {
      expect(parseIpRange(text)).toBeUndefined()
    },
  )

  it('gives equal text for equal ranges, which it reads again', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128), (address, length) => {
        const bits = address.includes(':') ? length : length % 33
        const { text } = range(`${address}/${bits}`)
        expect(range(text).text).toBe(text)
      }),
    )
  })
})

describe('ranges', () => {
  it.each([
    ['10.0.0.0/8', '10.9.0.0/16', true],
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.9.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.0/8', '11.0.0.0/16', false],
    ['0.0.0.0/0', '255.0.0.1/32', true],
    ['0.0.0.0/0', '::/0', false],
    ['fd00::/9', 'fd7f::1/128', true],
    ['fd00::/9', 'fd80::1/128', false],
  ])('%s holds %s: %s', (outer, inner, expected) => {
    expect(coversRange(range(outer), range(inner))).toBe(expected)
  })

  it('meet where one holds the other', () => {
    const set = (...texts: readonly string[]): IpRangeSet => new IpRangeSet(texts.map(range))
    expect(set('10.9.0.0/16').meets(set('10.0.0.0/8'))).toBe(true)
    expect(set('10.0.0.0/8').meets(set('10.9.0.0/16'))).toBe(true)
    expect(set('10.9.0.0/16').meets(set('10.8.0.0/16'))).toBe(false)
  })

  it('of a set hold what one of them holds', () => {
    const anyRange = fc
      .oneof(
        fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })),
        fc.tuple(fc.constantFrom('fd00::1', 'fd7f::1', 'fd00:0:0:1::'), fc.integer({ min: 0, max: 128 })),
        fc.tuple(fc.constantFrom('10.0.0.1', '10.0.1.1', '10.9.0.1'), fc.integer({ min: 0, max: 32 })),
      )
      .map(([address, bits]) => range(`${address}/${bits}`))
    fc.assert(
      fc.property(fc.array(anyRange, { maxLength: 6 }), anyRange, (ranges, asked) => {
        expect(new IpRangeSet(ranges).covers(asked)).toBe(ranges.some((each) => coversRange(each, asked)))
      }),
    )
  })
})
