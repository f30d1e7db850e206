import { describe, expect, it } from '@jest/globals'

import { WriteSemaphore } from './write-semaphore.js'

const forever = new AbortController().signal

describe('the send semaphore', () => {
  it('lets in as many as it has places, then one for each that leaves, in order', async () => {
    const semaphore = new WriteSemaphore(2)
    const entered: number[] = []
    const enter = async (index: number) => {
      const release = await semaphore.acquire(forever)
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
    const semaphore = new WriteSemaphore(1)
    const release = await semaphore.acquire(forever)
    const gone = new AbortController()
    const waiting = semaphore.acquire(gone.signal)
    const next = semaphore.acquire(forever)
    gone.abort()
    await expect(waiting).resolves.toBeUndefined()
    release?.()
    await expect(next).resolves.toBeDefined()
    await expect(semaphore.acquire(gone.signal)).resolves.toBeUndefined()
  })
})
