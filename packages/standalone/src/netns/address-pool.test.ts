import { describe, expect, it } from '@jest/globals'
import { AddressPool } from './address-pool.js'
import { parseIpv4Range } from './ipv4-range.js'

function poolOf(text: string): AddressPool {
  return new AddressPool(parseIpv4Range(text)!)
}

describe('AddressPool', () => {
  it('gives each address once: not the network, not the host, not the broadcast address', () => {
    const pool = poolOf('10.189.1.0/29')
    const taken = Array.from({ length: 6 }, () => pool.take())
    expect(pool.hostAddress).toBe('10.189.1.1')
    expect(taken).toEqual(['10.189.1.2', '10.189.1.3', '10.189.1.4', '10.189.1.5', '10.189.1.6', undefined])
  })

  it('gives an address that returned after all others', () => {
    const pool = poolOf('10.189.1.0/29')
    expect([pool.take(), pool.take()]).toEqual(['10.189.1.2', '10.189.1.3'])
    pool.release('10.189.1.2')
    expect(Array.from({ length: 4 }, () => pool.take())).toEqual([
      '10.189.1.4',
      '10.189.1.5',
      '10.189.1.6',
      '10.189.1.2',
    ])
    expect(pool.take()).toBeUndefined()
  })
})
