import { describe, expect, it } from '@jest/globals'

import { SendGate } from './send-gate.js'

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
