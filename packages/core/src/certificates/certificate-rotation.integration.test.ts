import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import { settled, type FakeClock } from '../../test/certificates/fake-clock.js'
import type { FakeProvider } from '../../test/certificates/fake-provider.js'
import { DAY, HOUR, ManagerFixture, newProxy, refOf, SECOND, service } from '../../test/certificates/manager-fixture.js'
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

describe('rotation', () => {
  it.each([
    [0, 0.5],
    [0.5, 0.625],
    [0.999_999, 0.75],
  ])('comes, for the random number %d, after %d of the life', async (value, share) => {
    fixture.run()
    fixture.random = () => value
    const first = await manager.issueCertificate(service('a'), { validityMs: 100 * HOUR })
    await clock.pass(share * 100 * HOUR - SECOND)
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    await clock.pass(2 * SECOND)
    const second = manager.getCertificate(refOf(service('a')))
    expect(second?.serialNumber).toBe('2')
    expect(second?.notBefore).toBeGreaterThan(clock.now() - 2 * SECOND)
    expect((second?.expiration ?? 0) - (second?.notBefore ?? 0)).toBe(100 * HOUR)
  })

  it('continues, for service and control-plane certificates alike, with a single timer', async () => {
    fixture.run()
    const subjects = Array.from({ length: 25 }, (_, index) => service(`a${index}`, 'x'))
    let seed = 0
    fixture.random = () => (seed += 0.618) % 1
    await Promise.all(subjects.map((subject) => manager.issueCertificate(subject)))
    await manager.issueCertificate({ kind: 'control-plane', name: 'ads', dnsNames: [], ipAddresses: [] })
    await settled()
    expect(clock.pending).toBe(1)
    const announced = fixture.listen()
    await clock.pass(20 * DAY)
    const rotations = (await announced()).map((each) => (each.type === 'rotated' ? each.certificate.commonName : each))
    const timesOf = (name: string) => rotations.filter((each) => each === name).length
    for (const subject of subjects) expect(timesOf(refOf(subject).commonName)).toBeGreaterThanOrEqual(24)
    for (const subject of subjects) expect(timesOf(refOf(subject).commonName)).toBeLessThanOrEqual(44)
    expect(timesOf('ads.cluster.local')).toBe(1)
    expect(rotations.length).toBe(provider.requests.length - 26)
    for (const certificate of manager.listCertificates()) expect(certificate.expiration).toBeGreaterThan(clock.now())
  })

  it('follows a lifetime of seconds without ever handing out an expired certificate', async () => {
    fixture.run()
    await manager.issueCertificate(service('a'), { validityMs: 10 * SECOND })
    for (let second = 0; second < 120; second += 1) {
      await clock.pass(SECOND)
      expect(manager.getCertificate(refOf(service('a')))?.expiration).toBeGreaterThan(clock.now())
    }
    expect(provider.requests.length).toBeGreaterThan(15)
    expect(provider.requests.length).toBeLessThan(30)
  })

  it('keeps the certificate in force while a provider fails, and tries more and more rarely', async () => {
    fixture.run()
    const first = await manager.issueCertificate(service('a'), { validityMs: 10 * HOUR })
    const announced = fixture.listen()
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
    fixture.run()
    const first = await manager.issueCertificate(service('a', 'x'))
    provider.failure = new Error('down')
    await expect(manager.issueCertificate(service('a', 'x', 'y'))).rejects.toMatchObject({ code: 'OSM_CERT_ISSUE' })
    expect(manager.getCertificate(refOf(service('a')))).toBe(first)
    provider.failure = undefined
    const announced = fixture.listen()
    await clock.pass(5 * SECOND)
    expect(manager.getCertificate(refOf(service('a')))?.chain).toContain('y.default.svc.cluster.local')
    expect(await announced()).toEqual([{ type: 'rotated', certificate: refOf(service('a')), reason: 'names' }])
  })

  it('is not held up by a provider that does not answer for one certificate', async () => {
    fixture.run()
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

  it('can be requested', async () => {
    const first = await manager.issueCertificate(service('a', 'x'))
    const announced = fixture.listen()
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
    fixture.run()
    const announced = fixture.listen()
    const subjects = ['a', 'b', 'c', 'd'].map((name) => service(name))
    await Promise.all(subjects.map((subject) => manager.issueCertificate(subject)))
    const proxy = newProxy()
    await manager.issueCertificate(proxy)
    await announced()
    const before = manager.listCertificates()
    let seed = 0
    fixture.random = () => (seed += 0.23) % 1
    provider.changeRoot('workload')
    expect(await announced()).toEqual([{ type: 'rootChanged', authority: 'workload' }])
    expect(manager.listCertificates()).toEqual(before)
    // Others have to hear of it first.
    await clock.pass(9 * SECOND)
    expect(await announced()).toEqual([])
    await clock.pass(31 * SECOND)
    const heard = await announced()
    expect(heard).toHaveLength(4)
    for (const each of heard) expect(each).toMatchObject({ type: 'rotated', reason: 'root' })
    for (const subject of subjects) expect(before).not.toContain(manager.getCertificate(refOf(subject)))
    expect(before).toContain(manager.getCertificate({ kind: 'proxy', commonName: proxy.commonName }))
  })

  it('leaves certificates as they are when only more is trusted', async () => {
    fixture.run()
    const certificate = await manager.issueCertificate(service('a'))
    const announced = fixture.listen()
    provider.changeTrust('workload')
    await clock.pass(60 * SECOND)
    expect(await announced()).toEqual([{ type: 'rootChanged', authority: 'workload' }])
    expect(manager.getCertificate(refOf(service('a')))).toBe(certificate)
  })

  it('replaces what the previous root signed during its replacement', async () => {
    fixture.run()
    provider.hold()
    const issued = manager.issueCertificate(service('a'))
    await settled()
    provider.changeRoot('workload')
    await provider.letGo()
    expect((await issued).issuingCA).not.toBe(provider.root)
    await clock.pass(40 * SECOND)
    expect(manager.getCertificate(refOf(service('a')))?.issuingCA).toBe(provider.root)
  })
})
