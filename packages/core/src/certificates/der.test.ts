import { describe, expect, it } from '@jest/globals'

import { time, tlv, unsignedInteger } from './der.js'
import { ipOctets } from './ip-address.js'

describe('DER', () => {
  it.each([
    [0, '0400'],
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_535, '0482ffff'],
    [65_536, '0483010000'],
  ])('writes the length %i in its shortest form', (length, header) => {
    const element = tlv(0x04, Buffer.alloc(length, 1))
    expect(element.subarray(0, header.length / 2).toString('hex')).toBe(header)
    expect(element).toHaveLength(header.length / 2 + length)
  })

  it.each([
    ['00', '020100'],
    ['01', '020101'],
    ['7f', '02017f'],
    ['80', '02020080'],
    ['0080', '02020080'],
    ['000001', '020101'],
    ['ff00', '020300ff00'],
  ])('writes the integer %s positive and in its shortest form', (octets, der) => {
    expect(unsignedInteger(Buffer.from(octets, 'hex')).toString('hex')).toBe(der)
  })

  it.each([
    ['1999-12-31T23:59:59Z', '\x17\x0d991231235959Z'],
    ['2049-12-31T23:59:59.999Z', '\x17\x0d491231235959Z'],
    ['2050-01-01T00:00:00Z', '\x18\x0f20500101000000Z'],
    ['9999-12-31T23:59:59Z', '\x18\x0f99991231235959Z'],
  ])('writes the time %s', (text, der) => {
    expect(time(Date.parse(text)).toString('latin1')).toBe(der)
  })

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
