import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'

import { WriteWatch } from './write-watch.js'

const limits = { slowWriteMs: 1000, writeTimeoutMs: 60_000 }

describe('the watch over writes', () => {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  it('says once that a write is slow, and once that it is stuck', () => {
    const watch = new WriteWatch(limits)
    const seen: string[] = []
    watch.begin(
      () => seen.push('slow'),
      () => seen.push('stuck'),
    )
    jest.advanceTimersByTime(999)
    expect(seen).toEqual([])
    jest.advanceTimersByTime(251)
    expect(seen).toEqual(['slow'])
    jest.advanceTimersByTime(58_000)
    expect(seen).toEqual(['slow'])
    jest.advanceTimersByTime(1_000)
    expect(seen).toEqual(['slow', 'stuck'])
    expect(watch.size).toBe(0)
    jest.advanceTimersByTime(120_000)
    expect(seen).toEqual(['slow', 'stuck'])
  })

  it('says nothing of writes that end in time, and rests when there are none', () => {
    const watch = new WriteWatch(limits)
    const seen: string[] = []
    const note = () => seen.push('late')
    const first = watch.begin(note, note)
    jest.advanceTimersByTime(600)
    const second = watch.begin(note, note)
    first.done()
    first.done()
    jest.advanceTimersByTime(600)
    second.done()
    jest.advanceTimersByTime(250)
    expect(seen).toEqual([])
    expect(jest.getTimerCount()).toBe(0)
    watch.begin(note, note)
    jest.advanceTimersByTime(1250)
    expect(seen).toEqual(['late'])
  })
})
