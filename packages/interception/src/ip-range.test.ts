import { BlockList } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { addressFamily, parseIpRange } from './ip-range.js'

describe('parseIpRange', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['192.0.2.7/32', '192.0.2.7/32'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['1.2.3.4/0', '0.0.0.0/0'],
    ['2001:DB8:0:0:1:0:0:1/128', '2001:db8::1:0:0:1/128'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::/0', '::/0'],
    ['1:0:2:0:3:0:4:0/128', '1:0:2:0:3:0:4:0/128'],
    ['::ffff:192.0.2.1/128', '::ffff:c000:201/128'],
    ['fe80::1/10', 'fe80::/10'],
  ])('reads %s as %s', (text, canonical) => {
    expect(parseIpRange(text)?.text).toBe(canonical)
  })

  it.each([
    '',
    '/',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0/8',
    '010.0.0.0/8',
    '::/129',
    'fe80::1%eth0/64',
    '10.0.0.0/8 ',
    '1::2::3/64',
    '10.0.0.0/8\n',
    '::1/1e1',
  ])('refuses %j', (text) => {
    expect(parseIpRange(text)).toBeUndefined()
  })

  it('is its own canonical form', () => {
    fc.assert(
      fc.property(arbitraryRange, (text) => {
        const range = parseIpRange(text)
        expect(range).toBeDefined()
        expect(parseIpRange(range?.text ?? '')).toEqual(range)
      }),
    )
  })

  it('holds the address that it was written with, by another implementation of address ranges', () => {
    fc.assert(
      fc.property(arbitraryRange, (text) => {
        const range = parseIpRange(text)
        const [network = '', prefix] = range?.text.split('/') ?? []
        const address = text.split('/')[0] ?? ''
        const list = new BlockList()
        list.addSubnet(network, Number(prefix), range?.family ?? 'ipv4')
        expect(list.check(address, addressFamily(address) ?? 'ipv4')).toBe(true)
      }),
    )
  })
})

const arbitraryRange = fc.oneof(
  fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(([address, prefix]) => `${address}/${String(prefix)}`),
  fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 })).map(([address, prefix]) => `${address}/${String(prefix)}`),
)
