import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { FakeClock, settled } from '../../core/test/certificates/fake-clock.js'
import { FakeLeases } from '../test/fake-leases.js'
import { MemoryLogger } from '../test/memory-logger.js'
import { LeaderElector, type LeaderElectorOptions } from './leader-elector.js'

const SECOND = 1_000

let clock: FakeClock
let leases: FakeLeases
let stops: AbortController[]

beforeEach(() => {
  clock = new FakeClock()
  leases = new FakeLeases(clock)
  stops = []
})

afterEach(async () => {
  for (const stop of stops) stop.abort()
  await clock.pass(60 * SECOND)
})

describe('an election', () => {
  it('is won at once where there is no lease', async () => {
    const one = stand('one')
    await settled()
    expect(one.elector.leading).toBe(true)
    expect(leases.stored?.spec).toEqual({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      acquireTime: '2026-11-21T10:00:00.000000Z',
      renewTime: '2026-11-21T10:00:00.000000Z',
      leaseTransitions: 0,
    })
  })

  it('keeps the leader while it renews', async () => {
    const one = stand('one')
    await settled()
    const two = stand('two')
    await clock.pass(300 * SECOND)
    expect([one.elector.leading, two.elector.leading]).toEqual([true, false])
    expect(one.terms).toEqual([{ from: 0, to: undefined }])
  })

  it('goes to another one only when the lease has run out since that one saw it', async () => {
    const one = stand('one')
    await settled()
    const two = stand('two')
    await clock.pass(60 * SECOND)
    leases.cutOff('one')
    await clock.pass(60 * SECOND)
    const [first] = one.terms
    const [second] = two.terms
    expect(first?.to).toBeGreaterThanOrEqual(68 * SECOND)
    expect(first?.to).toBeLessThanOrEqual(70 * SECOND)
    expect(second?.from).toBeGreaterThanOrEqual(73 * SECOND)
    expect(second?.from).toBeLessThanOrEqual(80 * SECOND)
    expect(leases.stored?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
  })

  it('is over at once for a leader that stops, but not before its work has ended', async () => {
    const one = stand('one', { lastWords: 25 * SECOND })
    await settled()
    const two = stand('two')
    await clock.pass(30 * SECOND)
    one.stop.abort()
    await clock.pass(24 * SECOND)
    expect([one.elector.leading, two.elector.leading]).toEqual([true, false])
    await clock.pass(8 * SECOND)
    expect([one.elector.leading, two.elector.leading]).toEqual([false, true])
    expect(two.terms[0]?.from).toBeGreaterThanOrEqual(one.terms[0]!.to! + 25 * SECOND)
    await one.running
  })

  it('ends the term of a leader that is cut off, before anyone else can lead', async () => {
    const one = stand('one', { lastWords: 2 * SECOND })
    await settled()
    leases.cutOff('one')
    await clock.pass(9_999)
    expect(one.elector.leading).toBe(true)
    await clock.pass(1)
    expect(one.elector.leading).toBe(false)
    expect(one.terms).toEqual([{ from: 0, to: 10 * SECOND }])
    leases.reconnect('one')
    await clock.pass(10 * SECOND)
    expect(one.terms).toHaveLength(2)
  })

  it('ends the term of a leader whose lease somebody else has taken', async () => {
    const one = stand('one')
    await settled()
    leases.seize('intruder')
    await clock.pass(2_100)
    expect(one.elector.leading).toBe(false)
    expect(one.terms[0]?.to).toBeDefined()
  })

  it('tells the other candidates who leads, and what that one has written for them', async () => {
    const at = (address: string) => ({ options: { annotations: { address } } })
    const one = stand('one', at('10.0.0.1'))
    await settled()
    const two = stand('two', at('10.0.0.2'))
    await clock.pass(10 * SECOND)
    expect([one.elector.other, one.elector.transitions]).toEqual([undefined, 0])
    expect(two.elector.other).toEqual({ identity: 'one', annotations: { address: '10.0.0.1' } })
    leases.cutOff('one')
    await clock.pass(30 * SECOND)
    expect([two.elector.leading, two.elector.other, two.elector.transitions]).toEqual([true, undefined, 1])
    expect(leases.stored?.metadata.annotations).toEqual({ address: '10.0.0.2' })
  })

  it('goes on when somebody else has only touched the lease', async () => {
    const one = stand('one')
    await settled()
    leases.touch({ note: 'mine' })
    await clock.pass(30 * SECOND)
    expect(one.terms).toEqual([{ from: 0, to: undefined }])
    expect(leases.stored?.metadata.labels).toEqual({ note: 'mine' })
  })

  it('respects a lease that was deleted for as long as it would have lasted', async () => {
    const one = stand('one')
    await settled()
    const two = stand('two')
    await clock.pass(4 * SECOND)
    leases.cutOff('one')
    leases.remove()
    await clock.pass(5 * SECOND)
    expect([one.elector.leading, two.elector.leading]).toEqual([true, false])
    await clock.pass(20 * SECOND)
    expect([one.elector.leading, two.elector.leading]).toEqual([false, true])
  })

  it('does not lead by an answer that comes after the renew deadline', async () => {
    leases.delayNext(12 * SECOND)
    const one = stand('one')
    await clock.pass(9 * SECOND)
    expect(one.elector.leading).toBe(false)
    await clock.pass(6 * SECOND)
    expect(one.terms[0]?.from).toBeGreaterThan(10 * SECOND)
  })

  it('gives the lease back and says why when the work of a leader fails', async () => {
    const one = stand('one', { fails: new Error('a bug') })
    await expect(one.running).rejects.toThrow('a bug')
    expect(leases.stored?.spec).toMatchObject({ holderIdentity: '' })
  })

  it('goes on leading when the work of a leader is done', async () => {
    const one = stand('one', { returns: true })
    await clock.pass(60 * SECOND)
    expect(one.elector.leading).toBe(true)
    one.stop.abort()
    await one.running
    expect(leases.stored?.spec).toMatchObject({ holderIdentity: '' })
  })

  it('refuses a renew deadline that is not shorter than the lease', () => {
    expect(() => stand('one', { options: { renewDeadlineMs: 15 * SECOND } })).toThrow(RangeError)
    expect(() => stand('one', { options: { retryPeriodMs: 10 * SECOND } })).toThrow(RangeError)
  })

  it('never has two leaders, and always has one again when the network is well', async () => {
    const trouble = fc.record({
      who: fc.constantFrom('one', 'two', 'three'),
      what: fc.constantFrom('cut-off', 'cut-off', 'reconnect', 'slow', 'lose-answers', 'touch', 'restart', 'step'),
      amountMs: fc.integer({ min: 1, max: 14_000 }),
      passMs: fc.integer({ min: 0, max: 18_000 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(trouble, { maxLength: 15 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.99, noNaN: true })),
        async (troubles, chance) => {
          clock = new FakeClock()
          leases = new FakeLeases(clock)
          stops = []
          const random = (): number => chance.next().value as number
          const skews = new Map([
            ['one', 0],
            ['two', 3_600_000],
            ['three', -5_000],
          ])
          const running = new Map<string, Candidate>()
          const join = (who: string): void => {
            // Clocks of machines differ; the monotonic ones run alike.
            const wall = { now: () => clock.now() + (skews.get(who) ?? 0), setTimer: clock.setTimer.bind(clock) }
            running.set(
              who,
              stand(who, { options: { clock: wall, monotonic: () => clock.now(), random, retryPeriodMs: 400 } }),
            )
          }
          for (const who of skews.keys()) join(who)
          const restarts: Promise<void>[] = []
          const passing = async (ms: number): Promise<void> => {
            for (let passed = 0; passed < ms; passed += 2_000) {
              await clock.pass(Math.min(2_000, ms - passed))
              const leading = [...running.values()].filter(({ elector }) => elector.leading)
              expect(leading.length).toBeLessThanOrEqual(1)
              expect(leases.terms.overlap()).toBe(false)
            }
          }
          for (const { who, what, amountMs, passMs } of troubles) {
            if (what === 'cut-off') leases.cutOff(who)
            else if (what === 'reconnect') leases.reconnect(who)
            else if (what === 'slow') leases.delayNext(amountMs)
            else if (what === 'lose-answers') leases.loseAnswers(who, amountMs % 5)
            else if (what === 'touch') leases.touch({ at: String(amountMs) })
            else if (what === 'step') skews.set(who, amountMs * 1_000)
            else {
              const old = running.get(who)!
              old.stop.abort()
              restarts.push(old.running)
              await passing(2_500) // a process that stops takes its time for the release
              join(who)
            }
            await passing(passMs)
          }
          leases.heal()
          await passing(60_000)
          expect([...running.values()].filter(({ elector }) => elector.leading)).toHaveLength(1)
          for (const stop of stops) stop.abort()
          await clock.pass(60_000)
          await Promise.all(restarts)
        },
      ),
      { numRuns: 20 },
    )
  })
})

interface Candidate {
  readonly elector: LeaderElector
  readonly stop: AbortController
  readonly running: Promise<void>
  readonly terms: { readonly from: number; to: number | undefined }[]
}

interface Behaviour {
  readonly options?: Partial<LeaderElectorOptions>
  /** How long the work continues after it was told to stop. */
  readonly lastWords?: number
  readonly fails?: Error
  readonly returns?: boolean
}

function stand(identity: string, { options = {}, lastWords = 0, fails, returns }: Behaviour = {}): Candidate {
  const stop = new AbortController()
  const begun = Date.parse('2026-11-21T10:00:00Z')
  const terms: { from: number; to: number | undefined }[] = []
  const elector = new LeaderElector({
    api: leases.api(identity),
    namespace: 'osm-system',
    name: 'osm-controller-osm',
    identity,
    clock,
    random: () => 0.5,
    logger: new MemoryLogger(),
    ...options,
  })
  stops.push(stop)
  const running = elector.run(stop.signal, async (signal) => {
    const term = { from: clock.now() - begun, to: undefined as number | undefined }
    terms.push(term)
    const leave = leases.terms.enter()
    try {
      if (fails !== undefined) throw fails
      if (returns === true) return
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve())
      })
      term.to = clock.now() - begun
    } finally {
      leave()
    }
    if (lastWords > 0) await new Promise((resolve) => clock.setTimer(() => resolve(undefined), lastWords))
  })
  // Anyone who cares awaits it.
  running.catch(() => undefined)
  return { elector, stop, running, terms }
}
