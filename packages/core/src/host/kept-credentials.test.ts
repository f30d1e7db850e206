import { generateKeyPairSync } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Credential, ProxyRef } from '@osm-ts/driver-api'

import { settled } from '../../test/certificates/fake-clock.js'
import { domains, HOUR, ManagerFixture, newProxy, SECOND } from '../../test/certificates/manager-fixture.js'
import { certificateWithKey } from '../../test/certificates/proxy-certificate.js'
import { proxyKey } from '../identity/proxy-key.js'
import { ServiceCredentials } from './service-credentials.js'

const account = { namespace: 'default', name: 'a' }
const newCertificate = () => certificateWithKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)

describe('the certificate for the key of a proxy that has disconnected', () => {
  let fixture: ManagerFixture
  let credentials: ServiceCredentials
  let running: Promise<void>
  let services: readonly { readonly namespace: string; readonly name: string }[]
  let sessions: number

  beforeEach(() => {
    fixture = new ManagerFixture()
    services = []
    sessions = 0
    const { manager, clock, closing } = fixture
    credentials = new ServiceCredentials({
      certificates: manager,
      domains,
      servicesOf: () => services,
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
      serviceCertificates: { current: () => 'perProxy', onChange: () => () => undefined },
      now: () => clock.now(),
    })
    running = credentials.run(closing.signal)
  })
  afterEach(async () => {
    await fixture.close()
    await running
  })

  /** A session of a proxy, until the returned function ends it. */
  async function connect(commonName: string, certificate: Uint8Array, again?: string) {
    const session = again ?? `session-${(sessions += 1)}`
    if (again === undefined) credentials.began(session, certificate)
    const proxy = { session, commonName } as ProxyRef // nothing else of it is read
    const watching = credentials.watch(proxy, account, fixture.closing.signal, { key: 'proxy' })
    const next = async (): Promise<Credential> => (await watching.next()).value as Credential // it does not end before the test
    const credential = await next()
    return {
      session,
      credential,
      next,
      endWatch: async () => watching.return(),
      end: async () => {
        credentials.ended(session)
        await watching.return()
        await settled()
      },
    }
  }

  async function reconnect(commonName: string, certificate: Uint8Array): Promise<Credential> {
    const { credential, end } = await connect(commonName, certificate)
    await end()
    return credential
  }

  it('is given again within a minute for the same key, and signed again after it', async () => {
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    const first = await reconnect(commonName, certificate)
    await fixture.clock.pass(59 * SECOND)
    expect(await reconnect(commonName, certificate)).toEqual(first)
    expect(fixture.provider.requests).toHaveLength(1)
    await fixture.clock.pass(61 * SECOND)
    expect(fixture.manager.listCertificates()).toEqual([])
    expect(await reconnect(commonName, certificate)).not.toEqual(first)
    expect(fixture.provider.requests).toHaveLength(2)
  })

  it('is not given for another key, nor to another proxy with that key', async () => {
    const [one, other] = [newProxy().commonName, newProxy().commonName]
    const [certificate, replaced] = [await newCertificate(), await newCertificate()]
    await reconnect(one, certificate)
    await reconnect(one, replaced)
    await reconnect(other, certificate)
    const keys = fixture.provider.requests.map(({ publicKey }) => Buffer.from(publicKey).toString('base64'))
    expect(keys[1]).not.toBe(keys[0])
    expect(keys[2]).toBe(keys[0])
    // One for each proxy: that of its last key.
    expect(fixture.manager.listCertificates().map(({ serialNumber }) => serialNumber)).toEqual(['2', '3'])
  })

  it('is shared by the old and the new session of a proxy that returns before its session has ended', async () => {
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    const [before, after] = [await connect(commonName, certificate), await connect(commonName, certificate)]
    await before.end()
    await fixture.clock.pass(61 * SECOND)
    expect(after.credential).toEqual(before.credential)
    expect(fixture.manager.listCertificates()).toHaveLength(1)
    await after.end()
  })

  it('is not given once another root signs, not even before that is announced', async () => {
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    await reconnect(commonName, certificate)
    fixture.provider.changeRoot('workload')
    const next = await connect(commonName, certificate)
    expect(next.credential.serialNumber).toBe('2')
    await next.end()
    fixture.provider.changeRoot('workload')
    await settled()
    expect(fixture.manager.listCertificates()).toEqual([])
  })

  it('is not given again to a session that asks again, as for one that was refused, nor to the next session', async () => {
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    const first = await connect(commonName, certificate)
    await first.endWatch()
    const again = await connect(commonName, certificate, first.session)
    expect(again.credential.serialNumber).toBe('2')
    await again.end()
    expect((await reconnect(commonName, certificate)).serialNumber).toBe('3')
  })

  it('is released with the proxy', async () => {
    const proxy = newProxy()
    const certificate = await newCertificate()
    await reconnect(proxy.commonName, certificate)
    fixture.proxies.expect(proxyKey(proxy))
    fixture.manager.releaseCertificate({ kind: 'proxy', commonName: proxy.commonName })
    await settled()
    expect(fixture.manager.listCertificates()).toEqual([])
    expect(fixture.clock.pending).toBe(0)
  })

  it('is signed again for a proxy that returns to other services', async () => {
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    await reconnect(commonName, certificate)
    services = [{ namespace: 'default', name: 'web' }]
    const { next, end } = await connect(commonName, certificate)
    expect((await next()).serialNumber).toBe('2')
    expect(fixture.provider.requests.at(-1)?.dnsNames).toContain('web.default.svc.cluster.local')
    await end()
  })

  it('is replaced in good time while it is kept', async () => {
    fixture.settings = { ...fixture.settings, serviceValidityMs: HOUR / 60 }
    fixture.run()
    const { commonName } = newProxy()
    const certificate = await newCertificate()
    const first = await reconnect(commonName, certificate)
    await fixture.clock.pass(58 * SECOND)
    const next = await reconnect(commonName, certificate)
    expect(next.serialNumber).not.toBe(first.serialNumber)
    expect(Date.parse(next.expiry)).toBeGreaterThan(fixture.clock.now())
  })
})
