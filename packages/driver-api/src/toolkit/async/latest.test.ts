import { describe, expect, it } from '@jest/globals'

import { Latest } from './latest.js'

describe('Latest', () => {
  it('gives a slow reader the newest value only', async () => {
    const latest = new Latest(1)
    const values = latest.watch(new AbortController().signal)
    expect((await values.next()).value).toBe(1)
    latest.set(2)
    latest.set(3)
    expect((await values.next()).value).toBe(3)
  })

  it('wakes a waiting reader', async () => {
    const latest = new Latest<string>()
    const next = latest.watch(new AbortController().signal).next()
    latest.set('here')
    expect(await next).toEqual({ done: false, value: 'here' })
  })

  it('ends with the signal, and after the last value when closed', async () => {
    const abort = new AbortController()
    const latest = new Latest<number>()
    const waiting = latest.watch(abort.signal).next()
    abort.abort()
    expect((await waiting).done).toBe(true)

    const seen: number[] = []
    latest.set(7)
    latest.close()
    latest.set(8)
    for await (const value of latest.watch(new AbortController().signal)) seen.push(value)
    expect(seen).toEqual([7])
  })
})
