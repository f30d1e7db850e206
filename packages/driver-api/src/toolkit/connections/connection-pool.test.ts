import { describe, expect, it } from '@jest/globals'

import { ConnectionPool } from './connection-pool.js'

describe('a pool of connections', () => {
  it('has the oldest of a key leave when there are too many of that key', () => {
    const pool = new ConnectionPool<string>({ max: 10, maxPerKey: 2 })
    expect(pool.add('a', 'a1')).toBeUndefined()
    expect(pool.add('a', 'a2')).toBeUndefined()
    expect(pool.add('b', 'b1')).toBeUndefined()
    expect(pool.add('a', 'a3')).toEqual({ member: 'a1', limit: 'per key' })
  })

  it('has the oldest of the largest key leave when there are too many in all', () => {
    const pool = new ConnectionPool<string>({ max: 3, maxPerKey: 9 })
    for (const member of ['b1', 'a1', 'a2']) pool.add(member.slice(0, 1), member)
    expect(pool.add('c', 'c1')).toEqual({ member: 'a1', limit: 'in all' })
    pool.delete('a', 'a1')
    expect(pool.add('c', 'c2')).toEqual({ member: 'c1', limit: 'in all' })
    expect([pool.size, pool.sizeOf('a'), pool.sizeOf('c')]).toEqual([4, 1, 2])
  })

  it('never exceeds its limits by more than the member that was just added, in any order of changes', () => {
    const pool = new ConnectionPool<number>({ max: 20, maxPerKey: 6 })
    const keys = new Map<number, string>()
    let seed = 1
    for (let member = 0; member < 5_000; member += 1) {
      seed = (seed * 48_271) % 2_147_483_647
      const key = `k${Math.min(seed % 11, seed % 7)}`
      keys.set(member, key)
      const surplus = pool.add(key, member)
      if (surplus !== undefined) {
        pool.delete(keys.get(surplus.member) ?? '', surplus.member)
        keys.delete(surplus.member)
      }
      const [first] = keys.keys()
      if (seed % 3 === 0 && first !== undefined) {
        pool.delete(keys.get(first) ?? '', first)
        keys.delete(first)
      }
      expect(pool.size).toBe(keys.size)
      expect(pool.size).toBeLessThanOrEqual(20)
      expect(pool.sizeOf(key)).toBeLessThanOrEqual(6)
      expect(pool.sizeOf(key)).toBe([...keys.values()].filter((other) => other === key).length)
    }
  })
})
