import { describe, expect, it } from '@jest/globals'
import { setImmediate as nextTurn } from 'node:timers/promises'

import { WriteQueue, type Writer } from './write-queue.js'

/** Remembers when it was its turn. */
class RecordedWriter implements Writer {
  done: (() => void) | undefined

  constructor(readonly bytes = 100) {}

  writeNext(done: () => void): number {
    this.done = done
    return this.bytes
  }
}

describe('WriteQueue', () => {
  it('writes to as many as it may, then to one for each that has ended, in order', async () => {
    const queue = new WriteQueue({ maxInFlight: 2, smallBytes: 150, turnMs: 10 })
    const writers = Array.from({ length: 4 }, () => new RecordedWriter())
    for (const writer of writers) queue.add(writer)
    const asked = () => writers.map(({ done }) => done !== undefined)
    await nextTurn()
    await nextTurn()
    expect(asked()).toEqual([true, true, false, false])
    writers[0]?.done?.()
    // Ending a write twice makes room for one.
    writers[0]?.done?.()
    await nextTurn()
    await nextTurn()
    expect(asked()).toEqual([true, true, true, false])
    writers[1]?.done?.()
    await nextTurn()
    expect(asked()).toEqual([true, true, true, true])
  })

  it('asks no one who is gone', async () => {
    const queue = new WriteQueue({ maxInFlight: 1, smallBytes: 100, turnMs: 10 })
    const [first, gone, last] = [new RecordedWriter(), new RecordedWriter(), new RecordedWriter()]
    for (const writer of [first, gone, last]) queue.add(writer)
    await nextTurn()
    queue.delete(gone)
    first.done?.()
    await nextTurn()
    expect(gone.done).toBeUndefined()
    expect(last.done).toBeDefined()
  })

  it('goes on at once where nothing was due', async () => {
    const queue = new WriteQueue({ maxInFlight: 1, smallBytes: 1, turnMs: 10 })
    const asked: number[] = []
    for (const index of [1, 2, 3])
      queue.add({
        writeNext: (done) => {
          asked.push(index)
          done()
          return 0
        },
      })
    await nextTurn()
    expect(asked).toEqual([1, 2, 3])
  })

  it('writes a small response to all streams in one turn, and has others wait behind a large one', async () => {
    const queue = new WriteQueue({ maxInFlight: 4, smallBytes: 10_000, turnMs: 1_000 })
    const small = Array.from({ length: 99 }, () => new RecordedWriter())
    const [large, last] = [new RecordedWriter(50_000), new RecordedWriter()]
    for (const writer of [...small, large, last]) queue.add(writer)
    await nextTurn()
    expect([...small, large].every(({ done }) => done !== undefined)).toBe(true)
    expect(last.done).toBeUndefined()
    for (const { done } of small) done?.()
    await nextTurn()
    expect(last.done).toBeDefined()
  })
})
