import { describe, expect, it } from '@jest/globals'

import { Wake } from './wake.js'
import { WorkTurns } from './work-turns.js'

const forever = new AbortController().signal

describe('work turns', () => {
  it('let the event loop have its turn when the time of one is used up', async () => {
    let now = 0
    const turns = new WorkTurns(10, () => now)
    const seen: string[] = []
    const works = Array.from({ length: 4 }, async (_, index) =>
      turns.run(() => {
        now += 6
        seen.push(`work ${index}`)
      }),
    )
    setImmediate(() => seen.push('others'))
    await Promise.all(works)
    expect(seen).toEqual(['work 0', 'work 1', 'others', 'work 2', 'work 3'])
  })

  it('give a failure to its caller only', async () => {
    const turns = new WorkTurns(10)
    const bad = turns.run(() => {
      throw new Error('no good')
    })
    const good = turns.run(() => 'fine')
    await expect(bad).rejects.toThrow('no good')
    await expect(good).resolves.toBe('fine')
  })
})

describe('a wake', () => {
  it('is not missed by one who was busy, and counts once', async () => {
    const wake = new Wake()
    wake.notify()
    wake.notify()
    await expect(wake.wait(forever)).resolves.toBe(true)
    const stop = new AbortController()
    const waiting = wake.wait(stop.signal)
    stop.abort()
    await expect(waiting).resolves.toBe(false)
  })
})
