import { BlockList } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { addressAt, formatIpv4Range, overlap, parseIpv4Range, sizeOf } from './ipv4-range.js'

const texts = fc
  .tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }))
  .map(([address, prefix]) => `${address}/${String(prefix)}`)

describe('IPv4 ranges', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['255.255.255.255', '255.255.255.255/32'],
    ['192.168.1.130/25', '192.168.1.128/25'],
    ['0.0.0.0/0', '0.0.0.0/0'],
  ])('read %s as %s', (text, canonical) => {
    expect(formatIpv4Range(parseIpv4Range(text)!)).toBe(canonical)
  })

  it.each(['', 'default', '10.0.0/8', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/ 8', '::1/128'])(
    'do not read %j',
    (text) => {
      expect(parseIpv4Range(text)).toBeUndefined()
    },
  )

  it('overlap exactly when one holds the first address of the other', () => {
    fc.assert(
      fc.property(texts, texts, (one, two) => {
        const a = parseIpv4Range(one)!
        const b = parseIpv4Range(two)!
        const holds = (text: string, address: string): boolean => {
          const list = new BlockList()
          const [network = '', prefix] = text.split('/')
          list.addSubnet(network, Number(prefix))
          return list.check(address)
        }
        expect(overlap(a, b)).toBe(holds(one, addressAt(b, 0)) || holds(two, addressAt(a, 0)))
        expect(overlap(a, b)).toBe(overlap(b, a))
      }),
    )
  })

  it('hold the addresses from the first to the last', () => {
    const range = parseIpv4Range('10.189.1.0/24')!
    expect([addressAt(range, 0), addressAt(range, sizeOf(range) - 1)]).toEqual(['10.189.1.0', '10.189.1.255'])
  })
})
