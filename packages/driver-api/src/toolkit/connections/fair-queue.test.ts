import { describe, expect, it } from '@jest/globals'

import { FairQueue } from './fair-queue.js'

const anyone = (): boolean => true

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = []
  for (let item = queue.take(anyone); item !== undefined; item = queue.take(anyone)) taken.push(item)
  return taken
}

describe('a fair queue', () => {
  it('serves sources in turn, and the oldest of each first', () => {
    const queue = new FairQueue<string>(1_000, () => 0)
    for (const item of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2']) queue.add(item.slice(0, 1), item)
    expect(takeAll(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
    expect(queue.size).toBe(0)
  })

  it('passes over a source that has to wait', () => {
    const queue = new FairQueue<string>(1_000, () => 0)
    queue.add('a', 'a1')
    queue.add('b', 'b1')
    expect(queue.take((source) => source !== 'a')).toBe('b1')
    expect(queue.take((source) => source !== 'a')).toBeUndefined()
    expect(queue.take(anyone)).toBe('a1')
  })

  it('serves the newest of a source once its oldest has waited too long', () => {
    let now = 0
    const queue = new FairQueue<string>(1_000, () => now)
    queue.add('a', 'a1')
    queue.add('a', 'a2')
    now = 900
    for (const item of ['a3', 'a4', 'a5']) queue.add('a', item)
    queue.add('b', 'b1')
    queue.add('b', 'b2')
    queue.delete('a', 'a4')
    now = 1_100
    expect(takeAll(queue)).toEqual(['a5', 'b1', 'a3', 'b2', 'a2', 'a1'])
  })

  it('keeps nothing of items that have left', () => {
    const queue = new FairQueue<string>(-1, () => 0)
    for (let index = 0; index < 1_000; index += 1) {
      queue.add('a', `a${index}`)
      if (index > 0) queue.delete('a', `a${index - 1}`)
    }
    expect(queue.size).toBe(1)
    queue.delete('a', 'a1')
    expect(takeAll(queue)).toEqual(['a999'])
  })
})
