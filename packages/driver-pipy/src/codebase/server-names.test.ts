import { X509Certificate } from 'node:crypto'

import { describe, expect, it } from '@jest/globals'
import { ipOctets } from '@osm-ts/driver-api/toolkit'
import { testAuthority } from '@osm-ts/driver-testkit'
import fc from 'fast-check'

import { addressesIn, holdsName } from '../../codebase/server-names.js'

const authority = testAuthority('a partner')
const certificate = (...dns: readonly string[]) => {
  const { raw } = new X509Certificate(authority.issue('server', { dns }).chain)
  return { names: dns.filter((name) => ipOctets(name) === undefined), bytes: () => [...raw] }
}
const hex = (address: string): string => ipOctets(address)?.toString('hex') ?? ''

describe('the certificate of a server outside the mesh', () => {
  it.each([
    ['pay.example', ['x.example', 'PAY.example'], true],
    ['pay.example', ['*.example'], false],
    ['pay.shop.example', ['*.shop.example'], true],
    ['a.pay.shop.example', ['*.shop.example'], false],
    ['shop.example', ['*.shop.example'], false],
    ['.shop.example', ['*.shop.example'], false],
    ['pay.shop.example', ['p*.shop.example'], false],
    ['pay.shop.example', ['*'], false],
    ['pay.shop.example', ['*.*.example'], false],
    ['pay.example', ['pay.example.evil'], false],
    ['', [''], false],
    ['pay.example', [], false],
  ])('names %j by %j: %j', (name, held, holds) => {
    const own = { names: held, bytes: () => [] }
    expect(holdsName(own, { names: [name], addresses: [] })).toBe(holds)
  })

  it('is of an address if that is in it as one', () => {
    const own = certificate('pay.example', '10.1.2.3', '2001:db8::7')
    for (const address of ['10.1.2.3', '2001:db8::7'])
      expect(holdsName(own, { names: [], addresses: [hex(address)] })).toBe(true)
    expect(holdsName(own, { names: [], addresses: [hex('10.1.2.4')] })).toBe(false)
    expect(holdsName(own, { names: ['10.1.2.3'], addresses: [] })).toBe(false)
    expect(holdsName(certificate('10-1-2-3'), { names: [], addresses: [hex('10.1.2.3')] })).toBe(false)
    expect(holdsName(own, { names: [], addresses: [] })).toBe(false)
  })

  it('may hold many names', () => {
    const names = Array.from({ length: 3000 }, (_, i) => `host-${i}.example`)
    expect(addressesIn(certificate(...names, '10.1.2.3').bytes())).toEqual(['0a010203'])
  })

  it('names no one where it is broken off or changed, and never forever', () => {
    const bytes = certificate('pay.example', '10.1.2.3').bytes()
    for (let end = 0; end < bytes.length; end += 1) expect(addressesIn(bytes.slice(0, end))).toEqual([])
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 255 }), { maxLength: 300 }), (noise) => {
        expect(Array.isArray(addressesIn(noise))).toBe(true)
      }),
    )
  })
})
