import { X509Certificate } from 'node:crypto'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../test/certificates/fake-clock.js'
import { domains, HOUR, service } from '../../test/certificates/tresor-fixture.js'
import { MemoryCaStore } from './ca-store.js'
import { certificateNames } from './certificate-subject.js'
import { issueLeaf } from './issue-leaf.js'
import { StagedProvider } from './staged-provider.js'
import { TresorProvider } from './tresor-provider.js'

const key = { algorithm: 'ECDSA' } as const
const names = certificateNames(service, domains)
const MINUTE = 60_000
const DAY = 24 * HOUR

describe('StagedProvider', () => {
  let clock: FakeClock
  let first: TresorProvider
  let second: TresorProvider
  let staged: StagedProvider
  let told: number

  const newProvider = (): Promise<TresorProvider> =>
    TresorProvider.open({ store: new MemoryCaStore(), clock, rootKey: key })
  const rootOf = (provider: TresorProvider): string => provider.rootCertificate('workload').chain

  /** The root of a certificate that is issued now. */
  async function issuer(): Promise<string> {
    const request = { ...names, validityMs: HOUR, key }
    return (await issueLeaf(staged, request, new AbortController().signal)).issuingCA.chain
  }

  beforeEach(async () => {
    clock = new FakeClock()
    first = await newProvider()
    second = await newProvider()
    told = 0
  })

  afterEach(() => {
    staged.close()
    first.close()
    second.close()
    expect(clock.pending).toBe(0)
  })

  function start(plan: ConstructorParameters<typeof StagedProvider>[0]): void {
    staged = new StagedProvider(plan, clock)
    staged.onRootChange(() => (told += 1))
  }

  describe('another signer', () => {
    it('is trusted for 30 s before it signs, and the previous one for a day after', async () => {
      start({ signer: first, trusted: [] })
      expect(staged.trustBundle()).toEqual([rootOf(first)])
      staged.change({ signer: second, trusted: [] })
      expect(told).toBe(1)
      expect(staged.trustBundle()).toEqual([rootOf(first), rootOf(second)])
      expect(staged.faults()).toMatchObject([{ code: 'OSM_CERT_ROTATION', severity: 'warning' }])
      await clock.pass(29_000)
      expect(await issuer()).toBe(rootOf(first))
      await clock.pass(1_000)
      expect(told).toBe(2)
      expect(await issuer()).toBe(rootOf(second))
      expect(staged.rootCertificate('workload').chain).toBe(rootOf(second))
      expect(staged.trustBundle()).toEqual([rootOf(second), rootOf(first)])
      expect(staged.faults()).toEqual([])
      await clock.pass(DAY)
      expect(staged.trustBundle()).toEqual([rootOf(second)])
      expect(told).toBe(3)
    })

    it('does not sign while a connected sidecar has not confirmed, and that sidecar is named', async () => {
      start({ signer: first, trusted: [] })
      let missing = ['shop/store-v1']
      staged.confirmBy(() => ({ count: 2, unconfirmed: missing }))
      staged.change({ signer: second, trusted: [] })
      await clock.pass(10 * MINUTE)
      expect(await issuer()).toBe(rootOf(first))
      expect(staged.faults()[0]?.message).toContain('have not confirmed that they trust its root: 1, such as')
      expect(staged.faults()[0]?.message).toContain('shop/store-v1')
      missing = []
      await clock.pass(1_000)
      expect(await issuer()).toBe(rootOf(second))
    })

    it('signs at once where its root was trusted before', async () => {
      start({ signer: first, trusted: [second] })
      expect(staged.trustBundle()).toEqual([rootOf(first), rootOf(second)])
      staged.change({ signer: second, trusted: [first] })
      expect(await issuer()).toBe(rootOf(second))
      await clock.pass(2 * DAY)
      expect(staged.trustBundle()).toEqual([rootOf(second), rootOf(first)])
    })

    it('signs when the leader says so, and not before, whatever sidecars of this controller have confirmed', async () => {
      start({ signer: first, trusted: [] })
      let mayChange = false
      staged.decideBy(() => mayChange)
      staged.change({ signer: second, trusted: [first] })
      await clock.pass(10 * MINUTE)
      expect(await issuer()).toBe(rootOf(first))
      expect(staged.faults()[0]?.message).toContain('the leading controller has not decided yet')
      mayChange = true
      await clock.pass(1_000)
      expect(await issuer()).toBe(rootOf(second))
    })

    it('is confirmed once its root was sent and every connected sidecar has confirmed it', async () => {
      const fingerprints = (...providers: readonly TresorProvider[]): readonly string[] =>
        providers.map((provider) => new X509Certificate(rootOf(provider)).fingerprint256)
      start({ signer: first, trusted: [] })
      let unconfirmed = ['shop/store-v1']
      staged.confirmBy(() => ({ count: 2, unconfirmed }))
      expect(staged.trustState()).toEqual({ signs: fingerprints(first)[0], confirmed: fingerprints(first) })
      staged.decideBy(() => false)
      staged.change({ signer: second, trusted: [first] })
      await clock.pass(MINUTE)
      expect(staged.trustState()).toEqual({
        signs: fingerprints(first)[0],
        next: fingerprints(second)[0],
        confirmed: fingerprints(first),
        sidecars: { count: 2, unconfirmed },
      })
      unconfirmed = []
      await clock.pass(1_000)
      // A sidecar that connects later gets both roots from the beginning.
      unconfirmed = ['shop/store-v2']
      await clock.pass(1_000)
      expect(staged.trustState().confirmed).toEqual(fingerprints(first, second))
    })

    it('never signs if it is given up before, and the previous one goes on at once', async () => {
      start({ signer: first, trusted: [] })
      staged.change({ signer: second, trusted: [] })
      await clock.pass(20_000)
      staged.change({ signer: first, trusted: [] })
      await clock.pass(10 * MINUTE)
      expect(await issuer()).toBe(rootOf(first))
      // Someone may have got a certificate of it elsewhere.
      expect(staged.trustBundle()).toEqual([rootOf(first), rootOf(second)])
      await clock.pass(DAY)
      expect(staged.trustBundle()).toEqual([rootOf(first)])
    })

    it('can be gone back from at once after it has signed', async () => {
      start({ signer: first, trusted: [] })
      staged.change({ signer: second, trusted: [first] })
      await clock.pass(30_000)
      expect(await issuer()).toBe(rootOf(second))
      staged.change({ signer: first, trusted: [second] })
      expect(await issuer()).toBe(rootOf(first))
    })

    it('keeps providers in use until they neither sign nor are trusted by the plan', async () => {
      start({ signer: first, trusted: [] })
      staged.change({ signer: second, trusted: [] })
      expect([first, second].map((each) => staged.uses(each))).toEqual([true, true])
      await clock.pass(30_000)
      expect([first, second].map((each) => staged.uses(each))).toEqual([false, true])
    })
  })

  describe('a plan', () => {
    it('that cannot be taken up is told, and the one in force goes on', async () => {
      start({ signer: first, trusted: [] })
      staged.hold({ code: 'OSM_CERT_PROVIDER_SETTINGS', message: 'no such Secret' })
      expect(staged.faults()).toMatchObject([{ code: 'OSM_CERT_PROVIDER_SETTINGS', message: 'no such Secret' }])
      expect(await issuer()).toBe(rootOf(first))
      staged.hold(undefined)
      expect(staged.faults()).toEqual([])
    })
  })

  describe('a root that expires', () => {
    it('is told 30 days before', async () => {
      start({ signer: first, trusted: [] })
      const { expiration } = first.rootCertificate('workload')
      await clock.pass(expiration - clock.now() - 30 * DAY - 1)
      expect(staged.faults()).toEqual([])
      await clock.pass(1)
      expect(staged.faults()).toMatchObject([{ code: 'OSM_CERT_ROOT_EXPIRES', severity: 'warning' }])
    })
  })
})
