import { describe, expect, it } from '@jest/globals'
import type { ProxyRef } from '@osm-ts/driver-api'

import { newProxyUUID } from '../identity/proxy-identity.js'
import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import { ProxyRegistry } from './proxy-registry.js'

const newProxy = (): ProxyKey =>
  proxyKey({ uuid: newProxyUUID(), serviceAccount: { namespace: 'shop', name: 'store' } })

describe('the registry of proxies', () => {
  it('remembers the latest released proxies only', () => {
    const registry = new ProxyRegistry(3)
    const proxies = Array.from({ length: 5 }, newProxy)
    for (const proxy of proxies) {
      registry.expect(proxy)
      expect(registry.release(proxy)).toBe(true)
      expect(registry.release(proxy)).toBe(false)
    }
    expect(proxies.map((proxy) => registry.state(proxy))).toEqual([
      undefined,
      undefined,
      'released',
      'released',
      'released',
    ])
  })

  it('never takes a released proxy back', () => {
    const registry = new ProxyRegistry()
    const proxy = newProxy()
    expect(registry.claim(proxy)).toBe(true)
    registry.expect(proxy)
    expect(registry.state(proxy)).toBe('claimed')
    registry.release(proxy)
    registry.expect(proxy)
    expect(registry.claim(proxy)).toBe(false)
    expect(registry.state(proxy)).toBe('released')
  })

  it('tells proxies of one uuid apart by namespace and account: releasing one does not release another', () => {
    const registry = new ProxyRegistry()
    const uuid = newProxyUUID()
    const keyOf = (namespace: string, name: string): ProxyKey => proxyKey({ uuid, serviceAccount: { namespace, name } })
    registry.claim(keyOf('victim', 'bank'))
    registry.release(keyOf('aaa', 'mallory'))
    registry.release(keyOf('victim', 'teller'))
    expect(registry.claim(keyOf('victim', 'bank'))).toBe(true)
    expect(registry.claim(keyOf('aaa', 'mallory'))).toBe(false)
  })
})

describe('the record of a proxy', () => {
  const serviceAccount = { namespace: 'shop', name: 'store' }

  function connection(session: string, uuid = newProxyUUID()): { readonly key: ProxyKey; readonly ref: ProxyRef } {
    const ref: ProxyRef = {
      uuid,
      identity: 'store.shop' as ProxyRef['identity'],
      principal: 'store.shop.cluster.local' as ProxyRef['principal'],
      namespace: 'shop',
      class: 'envoy',
      commonName: `${uuid}.sidecar.store.shop.cluster.local`,
      session,
    }
    return { key: proxyKey({ uuid, serviceAccount }), ref }
  }

  it('holds certificate and session together, and is gone when neither is left', () => {
    const registry = new ProxyRegistry()
    const { key, ref } = connection('one')
    registry.expect(key)
    expect(registry.get(key)).toEqual({ certificate: 'unclaimed', session: undefined })
    registry.claim(key)
    registry.register(ref)
    expect(registry.get(key)).toEqual({ certificate: 'claimed', session: ref })
    expect([registry.size, registry.connected(), registry.find('one')]).toEqual([1, [ref], ref])
    registry.forget(key)
    expect(registry.get(key)).toEqual({ certificate: undefined, session: ref })
    registry.unregister(ref)
    expect([registry.get(key), registry.size, registry.find('one')]).toEqual([undefined, 0, undefined])
  })

  it('keeps the newest session, whichever ends first', () => {
    const registry = new ProxyRegistry()
    const { key, ref } = connection('one')
    const newer = { ...ref, session: 'two' }
    registry.register(ref)
    registry.register(newer)
    registry.unregister(ref)
    expect([registry.get(key)?.session, registry.connected()]).toEqual([newer, [newer]])
  })

  it('loses the certificate of a proxy that is released while it is connected, and keeps its session until that ends', () => {
    const registry = new ProxyRegistry()
    const { key, ref } = connection('one')
    registry.claim(key)
    registry.register(ref)
    registry.release(key)
    expect([registry.state(key), registry.get(key)?.session]).toEqual(['released', ref])
    registry.unregister(ref)
    expect(registry.get(key)).toBeUndefined()
  })
})
