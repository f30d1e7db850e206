import { describe, expect, it } from '@jest/globals'

import { SendGate } from './send-gate.js'
import { Wake } from './wake.js'
import { WorkTurns } from './work-turns.js'

const forever = new AbortController().signal

describe('the send gate', () => {
  it('lets in as many as it has places, then one for each that leaves, in order', async () => {
    const gate = new SendGate(2)
    const entered: number[] = []
    const enter = async (index: number) => {
      const release = await gate.acquire(forever)
      entered.push(index)
      return release
    }
    const [first, second, third, fourth] = [enter(1), enter(2), enter(3), enter(4)]
    const release = await first
    await second
    expect(entered).toEqual([1, 2])
    release?.()
    // Giving a place back twice gives back one.
    release?.()
    const next = await third
    expect(entered).toEqual([1, 2, 3])
    next?.()
    await fourth
    expect(entered).toEqual([1, 2, 3, 4])
  })

  it('does not keep a place for one who has gone', async () => {
    const gate = new SendGate(1)
    const release = await gate.acquire(forever)
    const gone = new AbortController()
    const waiting = gate.acquire(gone.signal)
    const next = gate.acquire(forever)
    gone.abort()
    await expect(waiting).resolves.toBeUndefined()
    release?.()
    await expect(next).resolves.toBeDefined()
    await expect(gate.acquire(gone.signal)).resolves.toBeUndefined()
  })
})

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
    await works[0]
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
