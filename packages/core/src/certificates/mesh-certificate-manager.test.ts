import { createPublicKey } from 'node:crypto'
import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import type { FakeProvider } from '../../test/certificates/fake-provider.js'
import {
  DAY,
  domains,
  HOUR,
  ManagerFixture,
  newProxy,
  refOf,
  SECOND,
  service,
} from '../../test/certificates/manager-fixture.js'
import { settled, type FakeClock } from '../../test/certificates/fake-clock.js'
import { MemoryCaStore } from './ca-store.js'
import { certificateSettings, defaultCertificateSettings } from './certificate-settings.js'
import { systemClock } from './clock.js'
import { AUTHORITIES } from './kinds.js'
import { MeshCertificateManager } from './mesh-certificate-manager.js'
import { TresorProvider } from './tresor-provider.js'

let fixture: ManagerFixture
let manager: MeshCertificateManager
let provider: FakeProvider
let clock: FakeClock

beforeEach(() => {
  fixture = new ManagerFixture()
  ;({ manager, provider, clock } = fixture)
})

afterEach(() => fixture.close())

describe('issuing', () => {
  it('gives the certificate in force until its names change', async () => {
    const first = await manager.issueCertificate(service('a', 'x'))
    expect(first).toMatchObject({ kind: 'service', commonName: 'a.default.cluster.local' })
    expect(await manager.issueCertificate(service('a', 'x', 'x'))).toBe(first)
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    const second = await manager.issueCertificate(service('a', 'y', 'x'))
    expect(second.chain).toBe('a.default.cluster.local,x.default.svc.cluster.local,y.default.svc.cluster.local')
    expect(await manager.issueCertificate(service('a', 'x', 'y'))).toBe(second)
    expect(manager.getCertificate(refOf(service('a')))).toBe(second)
    expect(provider.requests).toHaveLength(2)
  })

  it('asks once for all that want the same at the same time', async () => {
    provider.hold()
    const all = Promise.all(Array.from({ length: 50 }, () => manager.issueCertificate(service('a', 'x'))))
    await settled()
    expect(provider.requests).toHaveLength(1)
    await provider.letGo()
    expect(new Set(await all).size).toBe(1)
    expect(provider.requests).toHaveLength(1)
  })

  it('ends with the names that were wanted last, one request at a time', async () => {
    provider.hold()
    const all = [['x'], ['x', 'y'], ['z']].map((services) => manager.issueCertificate(service('a', ...services)))
    await settled()
    await provider.letGo()
    const certificates = await Promise.all(all)
    expect(new Set(certificates).size).toBe(1)
    expect(certificates[0]?.chain).toBe('a.default.cluster.local,z.default.svc.cluster.local')
    expect(provider.requests).toHaveLength(2) // the one under way, and the last
    expect(provider.mostAtOnce).toBe(1)
  })

  it('keeps kinds apart even where their names are the same', async () => {
    const { uuid, commonName } = newProxy()
    const proxy = await manager.issueCertificate({
      kind: 'proxy',
      uuid,
      serviceAccount: { namespace: 'default', name: 'a' },
    })
    const impostor = await manager.issueCertificate(service(`${uuid}.sidecar.a`))
    expect(impostor.commonName).toBe(commonName)
    expect(manager.getCertificate({ kind: 'proxy', commonName })).toBe(proxy)
    expect(manager.getCertificate(refOf(service(`${uuid}.sidecar.a`)))).toBe(impostor)
  })

  it('spreads the lifetimes of service certificates around the configured one, and no others', async () => {
    const lifetimes: number[] = []
    for (const value of [0, 0.25, 0.5, 0.999_999]) {
      fixture.random = () => value
      const certificate = await manager.issueCertificate(service(`a${lifetimes.length}`))
      lifetimes.push((certificate.expiration - clock.now()) / HOUR)
    }
    expect(lifetimes.map((hours) => Math.round(hours * 10) / 10)).toEqual([21.6, 22.8, 24, 26.4])
    const proxy = await manager.issueCertificate(newProxy())
    expect(proxy.expiration - clock.now()).toBe(defaultCertificateSettings.proxyValidityMs)
    const ads = await manager.issueCertificate({ kind: 'control-plane', name: 'ads', dnsNames: [], ipAddresses: [] })
    expect(ads).toMatchObject({ commonName: 'ads.cluster.local', expiration: clock.now() + 30 * DAY })
  })

  it('obeys a lifetime that was asked for, and settings that change', async () => {
    const certificate = await manager.issueCertificate(service('a'), { validityMs: HOUR })
    expect(certificate.expiration - clock.now()).toBe(HOUR)
    fixture.settings = certificateSettings({ serviceCertValidityMs: 2 * HOUR, key: { algorithm: 'RSA', bits: 2048 } })
    const other = await manager.issueCertificate(service('b'))
    expect(other.expiration - clock.now()).toBe(2 * HOUR)
    const key = provider.requests.at(-1)?.publicKey ?? Buffer.alloc(0)
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key, format: 'der', type: 'spki' })
    expect([asymmetricKeyType, asymmetricKeyDetails?.modulusLength]).toEqual(['rsa', 2048])
  })

  it('has the validity of the MeshConfig from the next rotation on', async () => {
    const first = await manager.issueCertificate(service('a', 'x'))
    fixture.settings = { ...defaultCertificateSettings, serviceValidityMs: HOUR }
    expect(await manager.issueCertificate(service('a', 'x'))).toBe(first)
    const second = await manager.rotateCertificate(refOf(service('a')))
    expect([first, second].map(({ expiration }) => expiration - clock.now())).toEqual([DAY, HOUR])
  })

  it('replaces what has expired, even with no one rotating', async () => {
    const first = await manager.issueCertificate(service('a'))
    await clock.pass(first.expiration - clock.now() - 1)
    expect(await manager.issueCertificate(service('a'))).toBe(first)
    await clock.pass(1)
    expect(await manager.issueCertificate(service('a'))).not.toBe(first)
  })

  it('bounds the requests that a provider gets at once', async () => {
    const all = Array.from({ length: 300 }, (_, index) => manager.issueCertificate(service(`a${index}`)))
    await Promise.all(all)
    expect(provider.mostAtOnce).toBe(16)
    expect(manager.listCertificates()).toHaveLength(300)
  })

  it('keeps nothing of what is only handed over', async () => {
    const announced = fixture.listen()
    const proxy = newProxy()
    const certificate = await manager.issueCertificate(proxy, { keep: false })
    expect(certificate.privateKey()).toContain('PRIVATE KEY')
    expect(manager.listCertificates()).toEqual([])
    expect(manager.getCertificate({ kind: 'proxy', commonName: proxy.commonName })).toBeUndefined()
    expect(fixture.stateOf(proxy.commonName)).toBeUndefined()
    expect(await announced()).toEqual([])
  })

  it('reports why a provider failed, and tries again when asked again', async () => {
    provider.failure = new Error('permission denied')
    await expect(manager.issueCertificate(service('a'))).rejects.toMatchObject({
      code: 'OSM_CERT_ISSUE',
      message: expect.stringMatching(/fake.*a\.default\.cluster\.local.*permission denied/),
    })
    expect(manager.listCertificates()).toEqual([])
    provider.failure = new OsmError('OSM_CERT_CA_EXPIRED', 'too late')
    await expect(manager.issueCertificate(service('a'))).rejects.toBe(provider.failure)
    provider.failure = undefined
    expect(await manager.issueCertificate(service('a'))).toMatchObject({ kind: 'service' })
  })

  it('gives a provider a minute', async () => {
    provider.hold()
    const issue = manager.issueCertificate(service('a'))
    const outcome = issue.then(
      () => 'issued',
      (error: unknown) => (error as OsmError).code,
    )
    await clock.pass(60 * SECOND)
    expect(await outcome).toBe('OSM_CERT_ISSUE_TIMEOUT')
    await provider.letGo()
    expect(manager.listCertificates()).toEqual([])
  })

  it('ends with the process, also for those that wait', async () => {
    provider.hold()
    const all = Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => manager.issueCertificate(service(`a${index}`))),
    )
    await settled()
    fixture.closing.abort()
    for (const outcome of await all)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'OSM_CERT_CLOSED' } })
    await expect(manager.issueCertificate(service('b'))).rejects.toMatchObject({ code: 'OSM_CERT_CLOSED' })
    expect(provider.requests).toHaveLength(16)
    expect(provider.listeners).toBe(0)
  })

  it('refuses bad names before anybody is asked', async () => {
    await expect(manager.issueCertificate(service('*'))).rejects.toMatchObject({ code: 'OSM_IDENTITY_SERVICE_ACCOUNT' })
    await expect(manager.issueCertificate(service('a', '*'))).rejects.toMatchObject({ code: 'OSM_IDENTITY_SERVICE' })
    expect(provider.requests).toEqual([])
  })

  it('hands out roots and bundles of its provider', () => {
    for (const authority of AUTHORITIES) {
      expect(manager.getRootCertificate(authority)).toBe(provider.root)
      expect(manager.trustBundle(authority)).toEqual([`new ${authority} root`, `old ${authority} root`])
    }
  })
})

describe('secrets', () => {
  it('show in no text, JSON, inspection, clone or announcement', async () => {
    const tresor = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    const real = new MeshCertificateManager({
      provider: tresor,
      domains,
      settings: () => fixture.settings,
      clock: systemClock,
      random: () => 0.5,
      signal: fixture.closing.signal,
    })
    const heard = real.subscribe(fixture.closing.signal)[Symbol.asyncIterator]()
    const certificate = await real.issueCertificate(service('a'))
    const key = certificate.privateKey()
    expect(key).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
    expect(certificate.credential()).toEqual({
      chain: certificate.chain,
      privateKey: key,
      expiry: new Date(certificate.expiration).toISOString(),
      serialNumber: certificate.serialNumber,
    })
    const { value: announcement } = (await heard.next()) as { value: unknown }
    for (const shown of [
      certificate,
      announcement,
      real,
      tresor,
      { certificate },
      [certificate],
      Object.assign({}, certificate),
    ]) {
      const text = [
        inspect(shown, { depth: 12, showHidden: true, getters: true }),
        inspect(shown, { depth: 12, customInspect: false, showHidden: true }),
        JSON.stringify(shown),
        String(shown),
      ].join()
      expect(text).not.toContain('PRIVATE KEY')
      expect(text).not.toContain(key.split('\n')[1])
    }
    expect(inspect(structuredClone(certificate))).not.toContain('PRIVATE KEY')
    expect(String(certificate)).toBe(`service certificate a.default.cluster.local (serial ${certificate.serialNumber})`)
    expect(() => Object.assign(certificate, { kind: 'proxy' })).toThrow(TypeError)
  })
})
