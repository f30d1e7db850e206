import { describe, expect, it } from '@jest/globals'

import { time, tlv, unsignedInteger } from './der.js'

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
})
