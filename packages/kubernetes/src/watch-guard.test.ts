import { beforeEach, describe, expect, it } from '@jest/globals'

import { FakeClock } from '../../core/test/certificates/fake-clock.js'
import { WatchGuard } from './watch-guard.js'

const SECOND = 1_000

let clock: FakeClock
let stop: AbortController
let guard: WatchGuard

beforeEach(() => {
  clock = new FakeClock()
  stop = new AbortController()
  guard = new WatchGuard(clock, stop.signal, 300)
})

describe('a guard of a watch', () => {
  it('ends a watch that is not accepted within a minute', async () => {
    await expectEndAfter(60)
  })

  it('ends a watch that continues for half a minute beyond its time', async () => {
    guard.heard(false)
    await clock.pass(100 * SECOND)
    guard.heard(false)
    await expectEndAfter(230)
  })

  it('ends a watch that has had bookmarks and then nothing for two and a half minutes', async () => {
    guard.heard(true)
    await clock.pass(100 * SECOND)
    guard.heard(false)
    await expectEndAfter(150)
    expect(guard.signal.reason).toMatchObject({
      code: 'OSM_KUBERNETES_UNREACHABLE',
      reason: 'WatchSilent',
      message: expect.stringContaining('silent on a watch for 150 s'),
    })
  })

  it('lets a watch be that keeps talking, until its time is over', async () => {
    for (let minute = 0; minute < 5; minute += 1) {
      guard.heard(true)
      await clock.pass(60 * SECOND)
    }
    await expectEndAfter(30)
  })

  it('passes on that everything ends, and leaves no timer', () => {
    stop.abort(new Error('enough'))
    expect(guard.signal.reason).toEqual(new Error('enough'))
    guard.release()
    expect(clock.pending).toBe(0)
  })
})

async function expectEndAfter(seconds: number): Promise<void> {
  await clock.pass(seconds * SECOND - 1)
  expect(guard.signal.aborted).toBe(false)
  await clock.pass(1)
  expect(guard.signal.aborted).toBe(true)
}
