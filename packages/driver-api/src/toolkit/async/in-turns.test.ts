import { describe, expect, it } from '@jest/globals'

import { atOnce, inTurns, type Steps } from './in-turns.js'

const never = new AbortController().signal

/** Takes this long for each step. */
function* work(steps: number, stepMs: number, done: number[] = []): Steps<string> {
  for (let step = 0; step < steps; step += 1) {
    const end = performance.now() + stepMs
    while (performance.now() < end);
    done.push(step)
    yield
  }
  return 'all of it'
}

describe('inTurns', () => {
  it('lets others have their turn before it is done', async () => {
    const done: number[] = []
    const result = inTurns(work(6, 2, done), never, { turnMs: 4 })
    let doneByThen: number | undefined
    setImmediate(() => {
      doneByThen = done.length
    })
    expect(await result).toBe('all of it')
    expect(done).toEqual([0, 1, 2, 3, 4, 5])
    expect(doneByThen).toBeLessThan(6)
  })

  it('takes one turn for what is short', async () => {
    const turns: number[] = []
    expect(await inTurns(work(3, 0), never, { turnMs: 1_000, onTurn: (ms) => turns.push(ms) })).toBe('all of it')
    expect(turns).toHaveLength(1)
  })

  it('takes one step at least in each turn, and tells how long each worked', async () => {
    const turns: number[] = []
    await inTurns(work(3, 2), never, { turnMs: 0, onTurn: (ms) => turns.push(ms) })
    expect(turns).toHaveLength(4)
    expect(turns.slice(0, 3).every((ms) => ms >= 2)).toBe(true)
  })

  it('ends with the signal', async () => {
    const abort = new AbortController()
    const done: number[] = []
    const result = inTurns(work(1_000, 1, done), abort.signal, { turnMs: 1 })
    abort.abort()
    expect(await result).toBeUndefined()
    expect(done).toEqual([0])
  })

  it('throws what a step throws', async () => {
    function* fails(): Steps<never> {
      yield
      throw new Error('no')
    }
    await expect(inTurns(fails(), never)).rejects.toThrow('no')
  })
})

describe('atOnce', () => {
  it('does all of the work', () => {
    const done: number[] = []
    expect(atOnce(work(3, 0, done))).toBe('all of it')
    expect(done).toHaveLength(3)
  })
})
