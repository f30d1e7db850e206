import { describe, expect, it } from '@jest/globals'

import { BoundedQueue } from './bounded-queue.js'

describe('BoundedQueue', () => {
  it('drops the oldest and says how many before it goes on', async () => {
    const queue = new BoundedQueue<number>(2)
    for (const item of [1, 2, 3, 4]) queue.push(item)
    const items = queue.read(new AbortController().signal)
    expect((await items.next()).value).toEqual({ lost: 2 })
    expect((await items.next()).value).toEqual({ item: 3 })
    expect((await items.next()).value).toEqual({ item: 4 })
    const next = items.next()
    queue.push(5)
    expect((await next).value).toEqual({ item: 5 })
  })

  it('ends with the signal', async () => {
    const abort = new AbortController()
    const next = new BoundedQueue<number>(1).read(abort.signal).next()
    abort.abort()
    expect((await next).done).toBe(true)
  })

  it.each([0, -1, 1.5, Number.NaN])('refuses a capacity of %p', (capacity) => {
    expect(() => new BoundedQueue(capacity)).toThrow(RangeError)
  })
})
