import { describe, expect, it } from '@jest/globals'

import { sourceOf } from './source-address.js'

describe('the source of a connection', () => {
  it('is the address itself for IPv4, also where a socket of both families has accepted it', () => {
    expect(sourceOf('192.0.2.1')).toBe('192.0.2.1')
    expect(sourceOf('::ffff:192.0.2.1')).toBe('192.0.2.1')
  })

  it('is one for all IPv6 addresses of a /64, however they are written', () => {
    const source = sourceOf('2001:db8:0:1::1')
    expect(sourceOf('2001:db8:0:1:ffff:ffff:ffff:ffff')).toBe(source)
    expect(sourceOf('2001:db8:0:2::1')).not.toBe(source)
    expect(sourceOf('fe80::1%eth0')).toBe(sourceOf('fe80::2%eth1'))
  })
})
