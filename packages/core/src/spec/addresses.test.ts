import { describe, expect, it } from '@jest/globals'

import { isAddress, isCidr } from './addresses.js'

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
})
