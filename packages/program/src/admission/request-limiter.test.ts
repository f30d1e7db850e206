import { describe, expect, it } from '@jest/globals'

import { RequestLimiter } from './request-limiter.js'

const limiter = (): RequestLimiter =>
  new RequestLimiter({ inAll: { requests: 4, large: 3 }, perPeer: { requests: 3, large: 2 } })

describe('RequestLimiter', () => {
  it('refuses requests of one address above its limit, and accepts those of others', () => {
    const limits = limiter()
    for (let sent = 0; sent < 3; sent += 1) expect(limits.take('a', false)).toBeInstanceOf(Function)
    expect(limits.take('a', false)).toBe('peer')
    expect(limits.take('b', false)).toBeInstanceOf(Function)
    expect(limits.take('c', false)).toBe('all')
  })

  it('refuses more large requests of one address, and of all, than may be under way', () => {
    const limits = limiter()
    for (let sent = 0; sent < 2; sent += 1) expect(limits.take('a', true)).toBeInstanceOf(Function)
    expect(limits.take('a', true)).toBe('peer')
    expect(limits.take('b', true)).toBeInstanceOf(Function)
    expect(limits.take('b', true)).toBe('all')
    expect(limits.take('b', false)).toBeInstanceOf(Function)
  })

  it('has room again when a request has ended, once for each', () => {
    const limits = limiter()
    const release = limits.take('a', true)
    if (typeof release === 'string') throw new Error('refused')
    release()
    release()
    for (const peer of ['b', 'b', 'a']) expect(limits.take(peer, true)).toBeInstanceOf(Function)
    expect(limits.take('a', true)).toBe('all')
  })
})
