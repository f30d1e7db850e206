import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { ProxyPart } from '@osm-ts/driver-api/policy'

import type { ProxyResources } from '../../resources/types.js'
import { DisconnectedResourceCache } from './disconnected-resource-cache.js'

const DELAY_MS = 60_000

function cacheFixture(maxProxies = 10) {
  const released: string[] = []
  const end = new AbortController()
  const keeping = new DisconnectedResourceCache({
    translator: {
      translate: () => ({}) as ProxyResources,
      renew: () => [],
      release: (proxyId) => void released.push(proxyId),
    },
    delayMs: DELAY_MS,
    maxProxies,
    signal: end.signal,
  })
  const leave = (proxyId: string): void => {
    keeping.release(proxyId as ProxyPart['id'], {} as ProxyResources)
  }
  const comeBack = (id: string): void => {
    keeping.translate({ id } as ProxyPart, () => undefined as never, 1, new Map())
  }
  return { keeping, leave, comeBack, released, end }
}

describe('DisconnectedResourceCache', () => {
  beforeEach(() => {
    jest.useFakeTimers()
  })

  afterEach(() => {
    jest.useRealTimers()
  })

  it('keeps what was made for a proxy until its time is over', () => {
    const { leave, released, keeping } = cacheFixture()
    leave('a')
    jest.advanceTimersByTime(DELAY_MS - 1)
    expect(released).toEqual([])
    jest.advanceTimersByTime(1)
    expect(released).toEqual(['a'])
    expect(keeping.size).toBe(0)
  })

  it('releases each proxy at its own time', () => {
    const { leave, released } = cacheFixture()
    leave('a')
    jest.advanceTimersByTime(DELAY_MS / 2)
    leave('b')
    jest.advanceTimersByTime(DELAY_MS / 2)
    expect(released).toEqual(['a'])
    jest.advanceTimersByTime(DELAY_MS / 2)
    expect(released).toEqual(['a', 'b'])
  })

  it('keeps nothing for a proxy that has returned, until it leaves again', () => {
    const { leave, comeBack, released, keeping } = cacheFixture()
    leave('a')
    comeBack('a')
    expect(keeping.size).toBe(0)
    jest.advanceTimersByTime(DELAY_MS / 2)
    leave('a')
    jest.advanceTimersByTime(DELAY_MS - 1)
    expect(released).toEqual([])
    jest.advanceTimersByTime(1)
    expect(released).toEqual(['a'])
  })

  it('releases both if two sessions of a proxy end one after the other', () => {
    const { leave, released } = cacheFixture()
    leave('a')
    leave('a')
    expect(released).toEqual(['a'])
    jest.advanceTimersByTime(DELAY_MS)
    expect(released).toEqual(['a', 'a'])
  })

  it('keeps no more proxies than its limit', () => {
    const { leave, released, keeping } = cacheFixture(2)
    for (const proxy of ['a', 'b', 'c']) leave(proxy)
    expect(released).toEqual(['a'])
    expect(keeping.size).toBe(2)
  })

  it('releases all when it ends, and keeps nothing afterwards', () => {
    const { leave, released, end } = cacheFixture()
    leave('a')
    end.abort()
    expect(released).toEqual(['a'])
    leave('b')
    expect(released).toEqual(['a', 'b'])
    expect(jest.getTimerCount()).toBe(0)
  })
})
