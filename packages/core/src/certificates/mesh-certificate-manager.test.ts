import { inspect } from 'node:util'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { OsmError, type ProxyCommonName } from '@osm-ts/driver-api'

import { parseMeshDomains } from '../identity/mesh-domains.js'
import { newProxyUUID, proxyCommonName } from '../identity/proxy-identity.js'
import { ANNOUNCEMENT_CAPACITY } from './announcements.js'
import { MemoryCaStore } from './ca-store.js'
import type { CertificateAnnouncement } from './certificate-manager.js'
import type { CertificateProvider, LeafRequest } from './certificate-provider.js'
import { defaultCertificateSettings, type CertificateSettings } from './certificate-settings.js'
import { certificateRef, type CertificateRef, type ProxySubject, type ServiceSubject } from './certificate-subject.js'
import { Certificate, type RootCertificate } from './certificate.js'
import { systemClock, type Clock } from './clock.js'
import { AUTHORITIES, type Authority, type LeafKind } from './kinds.js'
import { MeshCertificateManager } from './mesh-certificate-manager.js'
import { TresorProvider } from './tresor-provider.js'

const SECOND = 1_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const root: RootCertificate = new Certificate({
  kind: 'root',
  commonName: 'root',
  chain: 'root chain',
  notBefore: 0,
  expiration: Number.MAX_SAFE_INTEGER,
  serialNumber: '00',
})

/** Time that passes when the test says so. */
class FakeClock implements Clock {
  #now = Date.parse('2026-11-21T10:00:00Z')
  readonly #timers = new Map<object, { readonly at: number; readonly callback: () => void }>()
  started = 0

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const key = {}
    this.started += 1
    this.#timers.set(key, { at: this.#now + delayMs, callback })
    return () => this.#timers.delete(key)
  }

  get pending(): number {
    return this.#timers.size
  }

  /** Lets all timers of that time run, each at its own moment, and what they set off. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    for (;;) {
      await settled()
      const [next] = [...this.#timers].sort(([, a], [, b]) => a.at - b.at)
      if (next === undefined || next[1].at > end) break
      this.#timers.delete(next[0])
      this.#now = Math.max(this.#now, next[1].at)
      next[1].callback()
    }
    this.#now = end
    await settled()
  }
}

/** Whatever can go on without time passing has gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Issues at once, unless told to hold or to fail. */
class FakeProvider implements CertificateProvider {
  readonly name = 'fake'
  readonly requests: LeafRequest[] = []
  readonly #clock: Clock
  readonly #listeners = new Set<(authority: Authority) => void>()
  #held: (() => void)[] | undefined
  atOnce = 0
  mostAtOnce = 0
  failure: Error | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  hold(): void {
    this.#held ??= []
  }

  async letGo(): Promise<void> {
    const held = this.#held ?? []
    this.#held = undefined
    for (const go of held) go()
    await settled()
  }

  async issue<K extends LeafKind>(request: LeafRequest<K>): Promise<Certificate<K>> {
    this.requests.push(request)
    this.atOnce += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce)
    const serialNumber = String(this.requests.length)
    await new Promise<void>((resolve) => {
      if (this.#held === undefined) setImmediate(resolve)
      else this.#held.push(resolve)
    })
    this.atOnce -= 1
    if (this.failure !== undefined) throw this.failure
    return new Certificate({
      kind: request.kind,
      commonName: request.commonName,
      chain: request.dnsNames.join(),
      privateKey: 'secret key',
      issuingCA: root,
      notBefore: this.#clock.now(),
      expiration: this.#clock.now() + request.validityMs,
      serialNumber,
    })
  }

  rootCertificate(): RootCertificate {
    return root
  }

  trustBundle(authority: Authority): readonly string[] {
    return [`new ${authority} root`, `old ${authority} root`]
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  changeRoot(authority: Authority): void {
    for (const listener of this.#listeners) listener(authority)
  }

  get listeners(): number {
    return this.#listeners.size
  }
}

let clock: FakeClock
let provider: FakeProvider
let settings: CertificateSettings
let closing: AbortController
let random: () => number
let manager: MeshCertificateManager
let running: Promise<void> | undefined

beforeEach(() => {
  clock = new FakeClock()
  provider = new FakeProvider(clock)
  settings = defaultCertificateSettings
  closing = new AbortController()
  random = () => 0.5
  running = undefined
  manager = new MeshCertificateManager({
    provider,
    domains,
    settings: () => settings,
    clock,
    random: () => random(),
    signal: closing.signal,
  })
})

afterEach(async () => {
  closing.abort()
  await provider.letGo()
  await running
  expect(clock.pending).toBe(0)
})

function run(): void {
  running = manager.run(closing.signal)
}

function service(name: string, ...services: readonly string[]): ServiceSubject {
  return {
    kind: 'service',
    serviceAccount: { namespace: 'default', name },
    services: services.map((each) => ({ namespace: 'default', name: each })),
  }
}

function refOf(subject: ServiceSubject): Extract<CertificateRef, { kind: 'service' }> {
  return certificateRef<'service'>(subject, domains)
}

function newProxy(): ProxySubject & { readonly commonName: ProxyCommonName } {
  const subject = { kind: 'proxy', uuid: newProxyUUID(), serviceAccount: { namespace: 'default', name: 'a' } } as const
  return { ...subject, commonName: proxyCommonName(subject, domains.trustDomain) }
}

/** What has been announced so far, in the order in which it was. */
function listen(): () => Promise<readonly CertificateAnnouncement[]> {
  const heard: CertificateAnnouncement[] = []
  const subscription = manager.subscribe(closing.signal)
  const ears = (async () => {
    for await (const announcement of subscription) heard.push(announcement)
  })()
  closing.signal.addEventListener('abort', () => void ears)
  return async () => {
    await settled()
    return heard.splice(0)
  }
}

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
      random = () => value
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
    settings = { ...settings, serviceValidityMs: 2 * HOUR, key: { algorithm: 'RSA', bits: 3072 } }
    const other = await manager.issueCertificate(service('b'))
    expect(other.expiration - clock.now()).toBe(2 * HOUR)
    expect(provider.requests.at(-1)?.key).toEqual({ algorithm: 'RSA', bits: 3072 })
  })

  it('replaces what has expired, even with nobody rotating', async () => {
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
    const announced = listen()
    const proxy = newProxy()
    const certificate = await manager.issueCertificate(proxy, { keep: false })
    expect(certificate.privateKey()).toBe('secret key')
    expect(manager.listCertificates()).toEqual([])
    expect(manager.getCertificate({ kind: 'proxy', commonName: proxy.commonName })).toBeUndefined()
    expect(manager.proxyCertificateState(proxy.commonName)).toBeUndefined()
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
    closing.abort()
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
      expect(manager.getRootCertificate(authority)).toBe(root)
      expect(manager.trustBundle(authority)).toEqual([`new ${authority} root`, `old ${authority} root`])
    }
  })
})

describe('rotation', () => {
  it.each([
    [0, 0.5],
    [0.5, 0.625],
    [0.999_999, 0.75],
  ])('comes, for the random number %d, after %d of the life', async (value, share) => {
    run()
    random = () => value
    const first = await manager.issueCertificate(service('a'), { validityMs: 100 * HOUR })
    await clock.pass(share * 100 * HOUR - SECOND)
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    await clock.pass(2 * SECOND)
    const second = manager.getCertificate(refOf(service('a')))
    expect(second?.serialNumber).toBe('2')
    expect(second?.notBefore).toBeGreaterThan(clock.now() - 2 * SECOND)
    expect((second?.expiration ?? 0) - (second?.notBefore ?? 0)).toBe(100 * HOUR)
  })

  it('goes on, for service and control-plane certificates alike, with a single timer', async () => {
    run()
    const subjects = Array.from({ length: 100 }, (_, index) => service(`a${index}`, 'x'))
    let seed = 0
    random = () => (seed += 0.618) % 1
    await Promise.all(subjects.map((subject) => manager.issueCertificate(subject)))
    await manager.issueCertificate({ kind: 'control-plane', name: 'ads', dnsNames: [], ipAddresses: [] })
    await settled()
    expect(clock.pending).toBe(1)
    const announced = listen()
    await clock.pass(20 * DAY)
    const rotations = (await announced()).map((each) => (each.type === 'rotated' ? each.certificate.commonName : each))
    const timesOf = (name: string) => rotations.filter((each) => each === name).length
    for (const subject of subjects) expect(timesOf(refOf(subject).commonName)).toBeGreaterThanOrEqual(24)
    for (const subject of subjects) expect(timesOf(refOf(subject).commonName)).toBeLessThanOrEqual(44)
    expect(timesOf('ads.cluster.local')).toBe(1)
    expect(rotations.length).toBe(provider.requests.length - 101)
    for (const certificate of manager.listCertificates()) expect(certificate.expiration).toBeGreaterThan(clock.now())
  })

  it('follows a lifetime of seconds without ever handing out an expired certificate', async () => {
    run()
    await manager.issueCertificate(service('a'), { validityMs: 10 * SECOND })
    for (let second = 0; second < 120; second += 1) {
      await clock.pass(SECOND)
      expect(manager.getCertificate(refOf(service('a')))?.expiration).toBeGreaterThan(clock.now())
    }
    expect(provider.requests.length).toBeGreaterThan(15)
    expect(provider.requests.length).toBeLessThan(30)
  })

  it('keeps the certificate in force while a provider fails, and tries more and more seldom', async () => {
    run()
    const first = await manager.issueCertificate(service('a'), { validityMs: 10 * HOUR })
    const announced = listen()
    provider.failure = new OsmError('OSM_CERT_CA_EXPIRED', 'too late')
    await clock.pass(6.25 * HOUR)
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    await clock.pass(10 * 60 * SECOND)
    const failures = await announced()
    expect(failures.length).toBeGreaterThan(10)
    expect(failures.length).toBeLessThan(30)
    for (const failure of failures)
      expect(failure).toEqual({
        type: 'rotationFailed',
        certificate: refOf(service('a')),
        code: 'OSM_CERT_CA_EXPIRED',
      })
    expect(await manager.issueCertificate(service('a'))).toBe(first)
    provider.failure = undefined
    await clock.pass(2 * 60 * SECOND)
    expect(manager.getCertificate(refOf(service('a')))).not.toBe(first)
    expect(await announced()).toContainEqual({
      type: 'rotated',
      certificate: refOf(service('a')),
      reason: 'lifetime',
    })
  })

  it('makes up for names that could not be added', async () => {
    run()
    const first = await manager.issueCertificate(service('a', 'x'))
    provider.failure = new Error('down')
    await expect(manager.issueCertificate(service('a', 'x', 'y'))).rejects.toMatchObject({ code: 'OSM_CERT_ISSUE' })
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    provider.failure = undefined
    const announced = listen()
    await clock.pass(5 * SECOND)
    expect(manager.getCertificate(refOf(service('a')))?.chain).toContain('y.default.svc.cluster.local')
    expect(await announced()).toEqual([{ type: 'rotated', certificate: refOf(service('a')), reason: 'names' }])
  })

  it('is not held up by a provider that does not answer for one certificate', async () => {
    run()
    await manager.issueCertificate(service('slow'), { validityMs: 100 * SECOND })
    await manager.issueCertificate(service('quick'), { validityMs: 200 * SECOND })
    const quick = manager.getCertificate(refOf(service('quick')))
    provider.hold()
    await clock.pass(63 * SECOND) // slow is due after 62.5 s
    expect(provider.requests).toHaveLength(3)
    await clock.pass(63 * SECOND) // quick after 125 s
    expect(provider.requests.slice(3).map(({ commonName }) => commonName)).toContain('quick.default.cluster.local')
    await provider.letGo()
    expect(manager.getCertificate(refOf(service('quick')))).not.toBe(quick)
  })

  it('can be asked for', async () => {
    const first = await manager.issueCertificate(service('a', 'x'))
    const announced = listen()
    const [second, same] = await Promise.all([
      manager.rotateCertificate(refOf(service('a'))),
      manager.rotateCertificate(refOf(service('a'))),
    ])
    expect(second).not.toBe(first)
    expect(same).toBe(second)
    expect(second.chain).toBe(first.chain)
    expect(await announced()).toEqual([{ type: 'rotated', certificate: refOf(service('a')), reason: 'requested' }])
    await expect(manager.rotateCertificate(refOf(service('b')))).rejects.toMatchObject({ code: 'OSM_CERT_UNKNOWN' })
  })

  it('follows a new root soon, but not all at once', async () => {
    run()
    const announced = listen()
    const subjects = ['a', 'b', 'c', 'd'].map((name) => service(name))
    await Promise.all(subjects.map((subject) => manager.issueCertificate(subject)))
    const proxy = newProxy()
    await manager.issueCertificate(proxy)
    await announced()
    const before = manager.listCertificates()
    let seed = 0
    random = () => (seed += 0.23) % 1
    provider.changeRoot('workload')
    expect(await announced()).toEqual([{ type: 'rootChanged', authority: 'workload' }])
    expect(manager.listCertificates()).toEqual(before)
    await clock.pass(30 * SECOND)
    const heard = await announced()
    expect(heard).toHaveLength(4)
    for (const each of heard) expect(each).toMatchObject({ type: 'rotated', reason: 'root' })
    for (const subject of subjects) expect(before).not.toContain(manager.getCertificate(refOf(subject)))
    expect(before).toContain(manager.getCertificate({ kind: 'proxy', commonName: proxy.commonName }))
  })
})

describe('proxies', () => {
  it('are unclaimed, then claimed, then released for good', async () => {
    const proxy = newProxy()
    const ref = { kind: 'proxy', commonName: proxy.commonName } as const
    expect(manager.proxyCertificateState(proxy.commonName)).toBeUndefined()
    await manager.issueCertificate(proxy)
    expect(manager.proxyCertificateState(proxy.commonName)).toBe('unclaimed')
    manager.claimProxyCertificate(proxy.commonName)
    manager.claimProxyCertificate(proxy.commonName) // it reconnects
    expect(manager.proxyCertificateState(proxy.commonName)).toBe('claimed')
    await manager.rotateCertificate(ref)
    expect(manager.proxyCertificateState(proxy.commonName)).toBe('claimed')
    const announced = listen()
    manager.releaseCertificate(ref)
    manager.releaseCertificate(ref)
    expect(manager.proxyCertificateState(proxy.commonName)).toBe('released')
    expect(await announced()).toEqual([{ type: 'released', certificate: ref }])
    expect(manager.getCertificate(ref)).toBeUndefined()
    expect(manager.listCertificates()).toEqual([])
    for (const again of [
      async () => manager.claimProxyCertificate(proxy.commonName),
      () => manager.issueCertificate(proxy),
      () => manager.issueCertificate(proxy, { keep: false }),
    ])
      await expect(again()).rejects.toMatchObject({ code: 'OSM_CERT_RELEASED' })
  })

  it('whose certificate another process has issued are claimed and released as well', async () => {
    const { commonName } = newProxy()
    const announced = listen()
    manager.claimProxyCertificate(commonName)
    expect(manager.proxyCertificateState(commonName)).toBe('claimed')
    manager.releaseCertificate({ kind: 'proxy', commonName })
    expect(() => manager.claimProxyCertificate(commonName)).toThrow(
      expect.objectContaining({ code: 'OSM_CERT_RELEASED' }),
    )
    expect(await announced()).toEqual([{ type: 'released', certificate: { kind: 'proxy', commonName } }])
  })

  it('that are released while their certificate is issued never get it', async () => {
    provider.hold()
    const proxy = newProxy()
    const outcome = expect(manager.issueCertificate(proxy)).rejects.toMatchObject({ code: 'OSM_CERT_RELEASED' })
    await settled()
    manager.releaseCertificate({ kind: 'proxy', commonName: proxy.commonName })
    await provider.letGo()
    await outcome
    expect(manager.listCertificates()).toEqual([])
    expect(manager.proxyCertificateState(proxy.commonName)).toBe('released')
  })

  it('have names of proxies', () => {
    expect(() => manager.claimProxyCertificate('a.default.cluster.local' as ProxyCommonName)).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_PROXY_NAME' }),
    )
  })
})

describe('releasing', () => {
  it('frees a service certificate, which may be issued again', async () => {
    const first = await manager.issueCertificate(service('a', 'x'))
    const announced = listen()
    manager.releaseCertificate(refOf(service('a')))
    manager.releaseCertificate(refOf(service('a')))
    expect(await announced()).toEqual([{ type: 'released', certificate: refOf(service('a')) }])
    expect(manager.getCertificate(refOf(service('a')))).toBeUndefined()
    expect(await manager.issueCertificate(service('a', 'x'))).not.toBe(first)
    expect(await announced()).toEqual([{ type: 'issued', certificate: refOf(service('a')) }])
  })

  it('and asking again while one is under way still asks the provider one thing at a time', async () => {
    provider.hold()
    const outcomes: Promise<unknown>[] = []
    for (let round = 0; round < 4; round += 1) {
      outcomes.push(manager.issueCertificate(service('a', `x${round}`)).catch((error: unknown) => error))
      await settled()
      if (round < 3) manager.releaseCertificate(refOf(service('a')))
    }
    await provider.letGo()
    const [first, second, third, last] = await Promise.all(outcomes)
    for (const gone of [first, second, third]) expect(gone).toMatchObject({ code: 'OSM_CERT_RELEASED' })
    expect(last).toMatchObject({ chain: 'a.default.cluster.local,x3.default.svc.cluster.local' })
    expect(provider.mostAtOnce).toBe(1)
    expect(provider.requests).toHaveLength(2)
  })

  it('ends rotation', async () => {
    run()
    await manager.issueCertificate(service('a'), { validityMs: 10 * SECOND })
    manager.releaseCertificate(refOf(service('a')))
    await clock.pass(HOUR)
    expect(provider.requests).toHaveLength(1)
  })
})

describe('announcements', () => {
  it('reach every subscriber from the time of the call on, until it leaves', async () => {
    await manager.issueCertificate(service('a'))
    const leaving = new AbortController()
    const [one, other] = [manager.subscribe(leaving.signal), manager.subscribe(closing.signal)]
    await manager.issueCertificate(service('b'))
    const issued = { type: 'issued', certificate: refOf(service('b')) }
    const readOne = one[Symbol.asyncIterator]()
    const readOther = other[Symbol.asyncIterator]()
    expect(await readOne.next()).toEqual({ done: false, value: issued })
    expect(await readOther.next()).toEqual({ done: false, value: issued })
    leaving.abort()
    expect(await readOne.next()).toEqual({ done: true, value: undefined })
    await manager.issueCertificate(service('c'))
    expect(await readOther.next()).toMatchObject({ value: { certificate: refOf(service('c')) } })
  })

  it('tell a slow subscriber how many it has missed', async () => {
    const subscription = manager.subscribe(closing.signal)
    for (let count = 0; count < ANNOUNCEMENT_CAPACITY + 10; count += 1) provider.changeRoot('workload')
    const reader = subscription[Symbol.asyncIterator]()
    expect(await reader.next()).toEqual({ done: false, value: { type: 'missed', count: 10 } })
    expect(await reader.next()).toEqual({ done: false, value: { type: 'rootChanged', authority: 'workload' } })
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
      settings: () => settings,
      clock: systemClock,
      random: () => 0.5,
      signal: closing.signal,
    })
    const heard = real.subscribe(closing.signal)[Symbol.asyncIterator]()
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
