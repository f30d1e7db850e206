import { describe, expect, it } from '@jest/globals'
import type { MeshService, ProxyRef, ServiceAccountRef } from '@osm-ts/driver-api'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import { parseMeshDomains } from '../identity/mesh-domains.js'
import { IdentityCredentials } from './identity-credentials.js'

const account = (name: string): ServiceAccountRef => ({ namespace: 'shop', name })

/** Credentials of two accounts whose proxies are connected; what certificates are requested is written down. */
function connected() {
  const services = new Map<string, readonly MeshService[]>()
  const asked: string[] = []
  // Only what these credentials call.
  const certificates = {
    issueCertificate: async (options: {
      readonly serviceAccount: ServiceAccountRef
      readonly services: readonly MeshService[]
    }) => {
      asked.push(`${options.serviceAccount.name}: ${options.services.map(({ name }) => name).join(' ')}`)
      return { credential: () => ({ serialNumber: String(asked.length) }) }
    },
    releaseCertificate: () => undefined,
  } as unknown as CertificateManager
  const credentials = new IdentityCredentials({
    certificates,
    domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
    servicesOf: ({ name }) => services.get(name) ?? [],
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    setTimer: () => () => undefined,
  })
  const over = new AbortController()
  const watches = ['store', 'buyer'].map((name) => credentials.watch({} as ProxyRef, account(name), over.signal))
  return {
    credentials,
    services,
    asked,
    first: async () => Promise.all(watches.map(async (watch) => watch.next())),
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
})
