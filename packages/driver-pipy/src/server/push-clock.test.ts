import { describe, expect, it } from '@jest/globals'

import { PushClock } from './push-clock.js'

/** Milliseconds of pushes of a worker that lacks something from the start. */
function pushes(clock: PushClock, since: number, untilMs: number): number[] {
  const times: number[] = []
  for (let now = since; now <= untilMs; now += 500) if (clock.due(since, now)) times.push(now)
  return times
}

describe('the times of pushes', () => {
  it('come less and less often', () => {
    expect(pushes(new PushClock(15_000, 60_000), 0, 300_000)).toEqual([
      15_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000,
    ])
  })

  it('start again with the next lack', () => {
    const clock = new PushClock(1000, 60_000)
    expect(pushes(clock, 0, 8000)).toEqual([1000, 2000, 4000, 8000])
    expect(pushes(clock, 10_000, 12_000)).toEqual([11_000, 12_000])
    clock.reset()
    expect(pushes(clock, 10_000, 11_000)).toEqual([11_000])
  })
})
