import { describe, expect, it } from '@jest/globals'

import { ipOctets } from './ip-octets.js'

describe('octets of IP addresses', () => {
  it.each([
    ['10.1.2.3', '0a010203'],
    ['::', '00000000000000000000000000000000'],
    ['::1', '00000000000000000000000000000001'],
    ['fe80::1:2', 'fe800000000000000000000000010002'],
    ['2001:db8::', '20010db8000000000000000000000000'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['::ffff:10.1.2.3', '00000000000000000000ffff0a010203'],
    ['64:ff9b::10.1.2.3', '0064ff9b00000000000000000a010203'],
  ])('encodes the address %s', (text, octets) => {
    expect(ipOctets(text)?.toString('hex')).toBe(octets)
  })

  it.each(['', 'a', '10.1.2', '10.1.2.3/8', 'fe80::1%eth0', '1::2::3', ' ::1'])('takes %j for no address', (text) => {
    expect(ipOctets(text)).toBeUndefined()
  })
})
