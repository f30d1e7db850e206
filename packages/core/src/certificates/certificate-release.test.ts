import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ProxyCommonName } from '@osm-ts/driver-api'

import type { FakeProvider } from '../../test/certificates/fake-provider.js'
import { HOUR, ManagerFixture, newProxy, refOf, SECOND, service } from '../../test/certificates/manager-fixture.js'
import { settled, type FakeClock } from '../../test/certificates/fake-clock.js'
import { ANNOUNCEMENT_CAPACITY } from './announcements.js'
import type { MeshCertificateManager } from './mesh-certificate-manager.js'

let fixture: ManagerFixture
let manager: MeshCertificateManager
let provider: FakeProvider
let clock: FakeClock

beforeEach(() => {
  fixture = new ManagerFixture()
  ;({ manager, provider, clock } = fixture)
})

afterEach(() => fixture.close())

describe('proxies', () => {
  it('are unclaimed, then claimed, then released for good', async () => {
    const proxy = newProxy()
    const ref = { kind: 'proxy', commonName: proxy.commonName } as const
    expect(fixture.stateOf(proxy.commonName)).toBeUndefined()
    await manager.issueCertificate(proxy)
    expect(fixture.stateOf(proxy.commonName)).toBe('unclaimed')
    manager.claimProxyCertificate(proxy.commonName)
    manager.claimProxyCertificate(proxy.commonName) // it reconnects
    expect(fixture.stateOf(proxy.commonName)).toBe('claimed')
    await manager.rotateCertificate(ref)
    expect(fixture.stateOf(proxy.commonName)).toBe('claimed')
    const announced = fixture.listen()
    manager.releaseCertificate(ref)
    manager.releaseCertificate(ref)
    expect(fixture.stateOf(proxy.commonName)).toBe('released')
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
    const announced = fixture.listen()
    manager.claimProxyCertificate(commonName)
    expect(fixture.stateOf(commonName)).toBe('claimed')
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
    expect(fixture.stateOf(proxy.commonName)).toBe('released')
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
    const announced = fixture.listen()
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
    fixture.run()
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
    const [one, other] = [manager.subscribe(leaving.signal), manager.subscribe(fixture.closing.signal)]
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
    const subscription = manager.subscribe(fixture.closing.signal)
    for (let count = 0; count < ANNOUNCEMENT_CAPACITY + 10; count += 1) provider.changeRoot('workload')
    const reader = subscription[Symbol.asyncIterator]()
    expect(await reader.next()).toEqual({ done: false, value: { type: 'missed', count: 10 } })
    expect(await reader.next()).toEqual({ done: false, value: { type: 'rootChanged', authority: 'workload' } })
  })
})
