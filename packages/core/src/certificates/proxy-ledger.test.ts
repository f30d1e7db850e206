import { describe, expect, it } from '@jest/globals'

import { newProxyUUID } from '../identity/proxy-identity.js'
import { ProxyLedger } from './proxy-ledger.js'

describe('states of proxies', () => {
  it('remember the latest released ones only', () => {
    const ledger = new ProxyLedger(3)
    const uuids = Array.from({ length: 5 }, newProxyUUID)
    for (const uuid of uuids) {
      ledger.issued(uuid)
      expect(ledger.release(uuid)).toBe(true)
      expect(ledger.release(uuid)).toBe(false)
    }
    expect(uuids.map((uuid) => ledger.state(uuid))).toEqual([undefined, undefined, 'released', 'released', 'released'])
  })

  it('never go back', () => {
    const ledger = new ProxyLedger()
    const uuid = newProxyUUID()
    expect(ledger.claim(uuid)).toBe(true)
    ledger.issued(uuid)
    expect(ledger.state(uuid)).toBe('claimed')
    ledger.release(uuid)
    ledger.issued(uuid)
    expect(ledger.claim(uuid)).toBe(false)
    expect(ledger.state(uuid)).toBe('released')
  })
})
