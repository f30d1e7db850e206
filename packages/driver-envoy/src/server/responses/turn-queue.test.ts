import { describe, expect, it } from '@jest/globals'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { TurnQueue } from './turn-queue.js'

describe('TurnQueue', () => {
  it('serves items once, in the order in which they came', async () => {
    const served: string[] = []
    const queue = new TurnQueue<string>({ work: (item) => served.push(item), turnMs: 10 })
    for (const item of ['a', 'b', 'a', 'c']) queue.add(item)
    queue.delete('b')
    expect(served).toEqual([])
    await nextTurn()
    expect(served).toEqual(['a', 'c'])
    expect(queue.size).toBe(0)
  })

  it('leaves the event loop to others after its time, and continues in the next turn', async () => {
    const served: string[] = []
    let now = 0
    const work = (item: string) => {
      served.push(item)
      now += 6
    }
    const queue = new TurnQueue<string>({ work, turnMs: 10, now: () => now })
    for (const item of ['a', 'b', 'c']) queue.add(item)
    await nextTurn()
    expect(served).toEqual(['a', 'b'])
    await nextTurn()
    expect(served).toEqual(['a', 'b', 'c'])
  })

  it('serves an item again that is added while it is served', async () => {
    const served: string[] = []
    const queue: TurnQueue<string> = new TurnQueue<string>({
      work: (item) => {
        served.push(item)
        if (served.length === 1) queue.add(item)
      },
      turnMs: 10,
    })
    queue.add('a')
    while (served.length < 2) await nextTurn()
    await nextTurn()
    expect(served).toEqual(['a', 'a'])
  })

  it('serves no one while it is paused', async () => {
    const served: string[] = []
    const queue: TurnQueue<string> = new TurnQueue<string>({
      work: (item) => {
        served.push(item)
        queue.pause()
      },
      turnMs: 10,
    })
    queue.add('a')
    queue.add('b')
    await nextTurn()
    await nextTurn()
    expect(served).toEqual(['a'])
    queue.resume()
    await nextTurn()
    expect(served).toEqual(['a', 'b'])
  })
})
