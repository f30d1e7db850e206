import { describe, expect, it } from '@jest/globals'

import { listenAddress, socketAddress } from './address.js'

const at = (address: string) => socketAddress({ address, port: 15003 })

describe('the address of a listener', () => {
  it.each([
    ['::', '0.0.0.0'],
    ['0.0.0.0', '::'],
  ])('is that of both families for a proxy that has both: %s', (address, other) => {
    expect(listenAddress({ address, port: 15003 }, ['IPv4', 'IPv6'])).toEqual({
      address: at(address),
      additionalAddresses: [{ address: at(other) }],
    })
  })

  it('is that of one family for a proxy that has one, and any other address as it stands', () => {
    expect(listenAddress({ address: '::', port: 15003 }, ['IPv6'])).toEqual({ address: at('::') })
    expect(listenAddress({ address: '0.0.0.0', port: 15003 }, ['IPv4'])).toEqual({ address: at('0.0.0.0') })
    expect(listenAddress({ address: '::1', port: 15003 }, ['IPv4', 'IPv6'])).toEqual({ address: at('::1') })
  })
})
