import { describe, expect, it } from '@jest/globals'
import { type Credential, type IdentityOptions, OsmError, type ProxyRef } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import type { ServiceSubject } from '../certificates/certificate-subject.js'
import { parseMeshDomains } from '../identity/mesh-domains.js'
import { ServiceCredentials } from './service-credentials.js'

const account = { namespace: 'shop', name: 'store' }
const proxy = (session: string) => ({ session, commonName: `${session}.cn` }) as ProxyRef

/** Credentials of a mesh whose mode is that of the test. A certificate has the name of the proxy that it is for. */
function mesh(first: 'shared' | 'perProxy', refuses = false) {
  const listeners = new Listeners()
  const released: (string | undefined)[] = []
  const timers = new Set<() => void>()
  let mode = first
  let issued = 0
  const credential = (subject: ServiceSubject): Credential => ({
    chain: `${subject.holder?.commonName ?? 'shared'} ${(issued += 1)}`,
    privateKey: subject.holder === undefined ? 'key' : '',
    ...(subject.holder && { key: 'proxy' as const }),
    expiry: '',
    serialNumber: String(issued),
  })
  // Only what these credentials call.
  const certificates = {
    issueCertificate: async (subject: ServiceSubject) => {
      if (refuses && subject.holder !== undefined) throw new OsmError('OSM_PROXY_KEY', 'weak')
      const made = credential(subject)
      return { credential: () => made, credentialWithoutKey: () => made }
    },
    releaseCertificate: ({ holder }: { readonly holder?: string }) => void released.push(holder?.split(' ', 1)[0]),
  } as unknown as CertificateManager
  const credentials = new ServiceCredentials({
    certificates,
    domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
    servicesOf: () => [],
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    setTimer: (callback) => {
      timers.add(callback)
      return () => timers.delete(callback)
    },
    serviceCertificates: { current: () => mode, onChange: (listener) => listeners.add(listener) },
    now: () => 0,
  })
  const over = new AbortController()
  return {
    credentials,
    released,
    timers,
    over,
    change: (next: typeof mode) => {
      mode = next
      listeners.notify()
    },
    watch: (session: string, takes?: IdentityOptions) => {
      credentials.began(session, Buffer.from(session))
      return credentials.watch(proxy(session), account, over.signal, takes)
    },
  }
}

const next = async (watch: AsyncGenerator<Credential, void, undefined>): Promise<Credential | undefined> => {
  const step = await watch.next()
  return step.done === true ? undefined : step.value
}

describe('service credentials', () => {
  it('are for the key of each proxy where the mesh and the driver want that, and are released a minute after its session', async () => {
    const { watch, released, timers } = mesh('perProxy')
    const [one, other] = [watch('one', { key: 'proxy' }), watch('other', { key: 'proxy' })]
    expect(await next(one)).toMatchObject({ chain: 'one.cn 1', key: 'proxy', privateKey: '' })
    expect(await next(other)).toMatchObject({ chain: 'other.cn 2', key: 'proxy', privateKey: '' })
    await one.return()
    expect(released).toEqual([])
    for (const callback of [...timers]) callback()
    expect(released).toEqual(['one.cn'])
  })

  it('of 10,000 proxies that have gone are kept, and no more', async () => {
    const { watch, released } = mesh('perProxy')
    for (let n = 0; n <= 10_000; n += 1) {
      const watching = watch(`proxy-${n}`, { key: 'proxy' })
      await next(watching)
      await watching.return()
    }
    expect(released).toEqual(['proxy-0.cn'])
  })

  it('are shared where a sidecar cannot use its own key, which operators are told of a class that could', async () => {
    const { credentials, watch } = mesh('perProxy')
    expect(await next(watch('old', {}))).toMatchObject({ privateKey: 'key' })
    expect(await next(watch('class', undefined))).toMatchObject({ privateKey: 'key' })
    expect(credentials.conditionsOf('old')).toMatchObject([{ code: 'OSM_PROXY_SHARED_KEY' }])
    expect(credentials.conditionsOf('class')).toEqual([])
    credentials.ended('old')
    expect(credentials.conditionsOf('old')).toEqual([])
  })

  it('change with the mode of the mesh while they are watched', async () => {
    const { watch, change, released, over } = mesh('shared')
    const watching = watch('one', { key: 'proxy' })
    expect(await next(watching)).toMatchObject({ chain: 'shared 1' })
    change('perProxy')
    expect(await next(watching)).toMatchObject({ chain: 'one.cn 2', key: 'proxy' })
    change('shared')
    expect(await next(watching)).toMatchObject({ chain: 'shared 1', privateKey: 'key' })
    expect(released).toEqual([])
    over.abort()
    expect(await next(watching)).toBeUndefined()
  })

  it('end with the refusal of a key, and are not given in the other form', async () => {
    const { watch } = mesh('perProxy', true)
    await expect(watch('weak', { key: 'proxy' }).next()).rejects.toMatchObject({ code: 'OSM_PROXY_KEY' })
  })
})
