import { describe, expect, it } from '@jest/globals'

import { canonicalCidr, isAddress, isCidr } from './addresses.js'

describe('addresses', () => {
  it.each(['10.0.0.0/8', '0.0.0.0/0', '192.0.2.7/32', 'fd00::/8', '::/0', '::1/128'])(
    'takes %s for a range',
    (text) => {
      expect(isCidr(text)).toBe(true)
    },
  )

  it.each([
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0/8',
    '256.0.0.0/8',
    'fd00::/129',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '/8',
    'a/8',
    '10.0.0.0/8/8',
    'fe80::1%eth0/64',
  ])('does not take %s for a range', (text) => {
    expect(isCidr(text)).toBe(false)
  })

  it('knows addresses of both families', () => {
    expect(['127.0.0.1', '::1', 'fd00::7'].map(isAddress)).toEqual([true, true, true])
    expect(['localhost', '[::1]', '127.0.0.1:80', 'fe80::1%eth0', ''].map(isAddress)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ])
  })

  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['203.0.113.255/25', '203.0.113.128/25'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['FD00:0:0:0::1/64', 'fd00::/64'],
    ['2001:db8:ffff::1/36', '2001:db8:f000::/36'],
    ['::1/128', '::1/128'],
    ['::ffff:10.1.2.3/104', '::ffff:a00:0/104'],
    ['::/0', '::/0'],
  ])('write %s as %s, no matter who wrote it', (range, canonical) => {
    expect(canonicalCidr(range)).toBe(canonical)
    expect(isCidr(canonical)).toBe(true)
  })
})
