import { describe, expect, it } from '@jest/globals'
import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import type { CertificateRef } from '../certificates/certificate-subject.js'
import { parseMeshDomains } from '../identity/mesh-domains.js'
import { IdentityCredentials } from './identity-credentials.js'

const account = (name: string): ServiceAccountRef => ({ namespace: 'shop', name })

/** Credentials of two accounts whose proxies are connected; what certificates are requested is written down. */
function connected() {
  const services = new Map<string, readonly MeshService[]>()
  const asked: string[] = []
  const released: string[] = []
  const timers = new Map<() => void, number>()
  // Only what these credentials call.
  const certificates = {
    issueCertificate: async (options: {
      readonly serviceAccount: ServiceAccountRef
      readonly services: readonly MeshService[]
    }) => {
      asked.push(`${options.serviceAccount.name}: ${options.services.map(({ name }) => name).join(' ')}`)
      return { credential: () => ({ serialNumber: String(asked.length) }) }
    },
    releaseCertificate: ({ commonName }: CertificateRef) => released.push(commonName),
    subscribe: async function* (signal: AbortSignal) {
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      yield* []
    },
  } as unknown as CertificateManager
  const credentials = new IdentityCredentials({
    certificates,
    domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
    servicesOf: ({ name }) => services.get(name) ?? [],
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    setTimer: (callback, delayMs) => {
      timers.set(callback, delayMs)
      return () => timers.delete(callback)
    },
  })
  const over = new AbortController()
  const watches = ['store', 'buyer'].map((name) => credentials.watch(account(name), over.signal))
  return {
    credentials,
    services,
    asked,
    released,
    timers,
    first: async () => Promise.all(watches.map(async (watch) => watch.next())),
    leave: async () => Promise.all(watches.map(async (watch) => watch.return())),
    end: () => over.abort(),
  }
}

describe('credentials of identities', () => {
  it('are reissued for those alone that back other services, of the accounts that are named or of all', async () => {
    const { credentials, services, asked, first, end } = connected()
    await first()
    expect(asked).toEqual(['store: ', 'buyer: '])
    services.set('store', [{ namespace: 'shop', name: 'api' }])
    services.set('buyer', [{ namespace: 'shop', name: 'web' }])
    credentials.servicesChanged([account('nobody'), account('store'), account('store')])
    expect(asked.slice(2)).toEqual(['store: api'])
    credentials.servicesChanged([account('store')])
    expect(asked).toHaveLength(3)
    credentials.servicesChanged()
    expect(asked.slice(3)).toEqual(['buyer: web'])
    end()
  })
  it('are kept for proxies that return within a minute, and reissued only if their services are others by then', async () => {
    const { credentials, services, asked, released, timers, first, leave, end } = connected()
    await first()
    await leave()
    expect([...timers.values()]).toEqual([60_000, 60_000])
    services.set('buyer', [{ namespace: 'shop', name: 'web' }])
    credentials.servicesChanged()
    expect(asked).toHaveLength(2)
    const over = new AbortController()
    const again = ['store', 'buyer'].map((name) => credentials.watch(account(name), over.signal))
    expect(await Promise.all(again.map(async (watch) => watch.next()))).toMatchObject([
      { value: { serialNumber: '2' } },
      { value: { serialNumber: '2' } },
    ])
    expect(asked.slice(2)).toEqual(['buyer: web'])
    expect(timers.size).toBe(0)
    expect(released).toEqual([])
    await again[0]?.return()
    for (const callback of timers.keys()) callback()
    expect(released).toEqual(['store.shop.cluster.local'])
    over.abort()
    end()
  })

  it('are not kept once the host has ended', async () => {
    const { credentials, released, timers, first, leave } = connected()
    const running = new AbortController()
    const ended = credentials.run(running.signal)
    await first()
    running.abort()
    await ended
    await leave()
    expect(timers.size).toBe(0)
    expect(released).toHaveLength(2)
  })

  it('without a user are released when the host ends', async () => {
    const { credentials, released, timers, first, leave } = connected()
    const running = new AbortController()
    const ended = credentials.run(running.signal)
    await first()
    await leave()
    running.abort()
    await ended
    expect(timers.size).toBe(0)
    expect(released).toHaveLength(2)
  })
})
