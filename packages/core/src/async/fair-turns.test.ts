import { describe, expect, it } from '@jest/globals'

import { FairTurns, WorkGivenUp } from './fair-turns.js'
import type { Steps } from '@osm-ts/driver-api/toolkit'

/** A clock that only work moves. */
class WorkClock {
  ms = 0;

  *work(steps: number, stepMs: number): Steps<string> {
    for (let step = 0; step < steps; step += 1) {
      this.ms += stepMs
      yield
    }
    return 'done'
  }
}

const plenty = { workMs: 1_000_000, timeoutMs: 1_000_000 }

describe('FairTurns', () => {
  it('ends small work before large work that was there first', async () => {
    const clock = new WorkClock()
    const turns = new FairTurns({ now: () => clock.ms })
    const ended: string[] = []
    const large = turns.run(clock.work(10_000, 1), plenty).then(() => ended.push('large'))
    const small = turns.run(clock.work(2, 1), plenty).then(() => ended.push('small'))
    await small
    expect(clock.ms).toBeLessThan(20)
    await large
    expect(ended).toEqual(['small', 'large'])
  })

  it('continues with the work that had least, whatever the length of steps', async () => {
    const clock = new WorkClock()
    const turns = new FairTurns({ now: () => clock.ms })
    const large = Array.from({ length: 30 }, () => turns.run(clock.work(10, 50), plenty))
    await turns.run(clock.work(10, 1), plenty)
    // Each of the large pieces had one step; in a rotation each would have had five.
    expect(clock.ms).toBeLessThan(30 * 50 + 100)
    await Promise.all(large)
  })

  it('lets the event loop have its turn after every turn of work', async () => {
    const clock = new WorkClock()
    const turns = new FairTurns({ turnMs: 10, now: () => clock.ms })
    let others = 0
    let working = true
    const tick = (): void => {
      others += 1
      if (working) setImmediate(tick)
    }
    setImmediate(tick)
    await Promise.all([1, 2, 3].map(() => turns.run(clock.work(100, 1), plenty)))
    working = false
    expect(others).toBeGreaterThanOrEqual(25)
  })

  it('gives up work that exceeds its bound, and no other', async () => {
    const clock = new WorkClock()
    const turns = new FairTurns({ now: () => clock.ms })
    const endless = turns.run(clock.work(Infinity, 1), { ...plenty, workMs: 50 })
    const modest = turns.run(clock.work(100, 1), plenty)
    await expect(endless).rejects.toMatchObject({ because: 'work' })
    expect(await modest).toBe('done')
  })

  it('does not give up work because the machine was busy with other things meanwhile', async () => {
    const clock = new WorkClock()
    // Of each millisecond that passes the process has a hundredth.
    const turns = new FairTurns({ now: () => clock.ms, processorMs: () => clock.ms / 100 })
    await expect(turns.run(clock.work(400, 10), { ...plenty, workMs: 50 })).resolves.toBe('done')
    await expect(turns.run(clock.work(Infinity, 10), { ...plenty, workMs: 50 })).rejects.toMatchObject({
      because: 'work',
    })
  })

  it('does not ask for the processor time of work that has no bound of it', async () => {
    const clock = new WorkClock()
    let asked = 0
    const processorMs = (): number => (asked += 1)
    const turns = new FairTurns({ now: () => clock.ms, processorMs })
    expect(await turns.run(clock.work(100, 1), { workMs: Infinity, timeoutMs: Infinity })).toBe('done')
    expect(asked).toBe(0)
    expect(await turns.run(clock.work(100, 1), plenty)).toBe('done')
    expect(asked).toBeGreaterThan(0)
  })

  it('gives up work that was not done in time', async () => {
    const clock = new WorkClock()
    const turns = new FairTurns({ now: () => clock.ms })
    const first = turns.run(clock.work(300, 1), plenty)
    await expect(turns.run(clock.work(300, 1), { ...plenty, timeoutMs: 100 })).rejects.toEqual(new WorkGivenUp('time'))
    expect(await first).toBe('done')
  })

  it('hands on what a step throws, and goes on', async () => {
    const turns = new FairTurns()
    const fails = function* (): Steps<never> {
      yield
      throw new Error('no')
    }
    await expect(turns.run(fails(), plenty)).rejects.toThrow('no')
    expect(await turns.run(new WorkClock().work(1, 1), plenty)).toBe('done')
  })
})
