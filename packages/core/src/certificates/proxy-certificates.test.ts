import { describe, expect, it } from '@jest/globals'

import { newProxyUUID } from '../identity/proxy-identity.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { ProxyCertificates } from './proxy-certificates.js'

const newProxy = (): ProxyKey =>
  proxyKey({ uuid: newProxyUUID(), serviceAccount: { namespace: 'shop', name: 'store' } })

describe('states of proxies', () => {
  it('remember the latest released ones only', () => {
    const claims = new ProxyCertificates(3)
    const proxies = Array.from({ length: 5 }, newProxy)
    for (const proxy of proxies) {
      claims.issued(proxy)
      expect(claims.release(proxy)).toBe(true)
      expect(claims.release(proxy)).toBe(false)
    }
    expect(proxies.map((proxy) => claims.state(proxy))).toEqual([
      undefined,
      undefined,
      'released',
      'released',
      'released',
    ])
  })

  it('never go back', () => {
    const claims = new ProxyCertificates()
    const proxy = newProxy()
    expect(claims.claim(proxy)).toBe(true)
    claims.issued(proxy)
    expect(claims.state(proxy)).toBe('claimed')
    claims.release(proxy)
    claims.issued(proxy)
    expect(claims.claim(proxy)).toBe(false)
    expect(claims.state(proxy)).toBe('released')
  })

  it('of one uuid differ by namespace and account: who releases one has not released the other', () => {
    const claims = new ProxyCertificates()
    const uuid = newProxyUUID()
    const keyOf = (namespace: string, name: string): ProxyKey => proxyKey({ uuid, serviceAccount: { namespace, name } })
    claims.claim(keyOf('victim', 'bank'))
    claims.release(keyOf('aaa', 'mallory'))
    claims.release(keyOf('victim', 'teller'))
    expect(claims.claim(keyOf('victim', 'bank'))).toBe(true)
    expect(claims.claim(keyOf('aaa', 'mallory'))).toBe(false)
  })
})
