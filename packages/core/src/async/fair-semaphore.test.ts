import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'

import { FairSemaphore, type ReleasePermit } from './fair-semaphore.js'

describe('FairSemaphore', () => {
  let semaphore: FairSemaphore
  let order: string[]
  let releases: Map<string, ReleasePermit>

  beforeEach(() => {
    jest.useFakeTimers()
    semaphore = new FairSemaphore({ permits: 1, holdMs: 1_000 })
    order = []
    releases = new Map()
  })

  afterEach(() => {
    jest.useRealTimers()
  })

  /** Requests a permit, and notes when it is given. */
  async function ask(key: string, name: string): Promise<void> {
    releases.set(name, await semaphore.acquire(key))
    order.push(name)
  }

  async function release(name: string): Promise<void> {
    releases.get(name)?.()
    await jest.advanceTimersByTimeAsync(0)
  }

  it('gives keys their turn one after the other, however many of one key wait', async () => {
    for (const name of ['a1', 'a2', 'a3']) void ask('a', name)
    void ask('b', 'b1')
    await jest.advanceTimersByTimeAsync(0)
    for (const name of ['a1', 'a2', 'b1']) await release(name)
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3'])
  })

  it('gives a permit on once, however often it is released', async () => {
    for (const name of ['a1', 'a2', 'a3']) void ask('a', name)
    await release('a1')
    await release('a1')
    expect(order).toEqual(['a1', 'a2'])
    await release('a2')
    await release('a3')
    await ask('b', 'b1')
    expect(order).toEqual(['a1', 'a2', 'a3', 'b1'])
  })

  it('no longer lets others wait for a holder that takes too long', async () => {
    void ask('a', 'a1')
    void ask('b', 'b1')
    await jest.advanceTimersByTimeAsync(999)
    expect(order).toEqual(['a1'])
    await jest.advanceTimersByTimeAsync(1)
    expect(order).toEqual(['a1', 'b1'])
    void ask('c', 'c1')
    await release('a1')
    expect(order).toEqual(['a1', 'b1'])
  })
})
