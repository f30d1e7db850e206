import { describe, expect, it } from '@jest/globals'

import { eventually, until } from './eventually.js'

const soon = { everyMs: 1 }

describe('eventually', () => {
  it('gives the first answer that is accepted', async () => {
    let asked = 0
    const ask = (): number => (asked += 1)
    expect(await eventually(ask, (answer) => answer > 2, soon)).toBe(3)
  })

  it('shows the last answer when none is accepted in time', async () => {
    const waiting = eventually(
      () => ({ state: 'new' }),
      () => false,
      { ...soon, timeoutMs: 5, what: 'an old state' },
    )
    await expect(waiting).rejects.toThrow('an old state did not come within 5 ms; last: {"state":"new"}')
  })

  it('throws the error of its caller when no answer is accepted in time', async () => {
    const failure = (last: number): Error => new RangeError(`only ${last}`)
    const waiting = eventually(
      () => 1,
      (answer) => answer > 1,
      { ...soon, timeoutMs: 5, failure },
    )
    await expect(waiting).rejects.toThrow(new RangeError('only 1'))
  })

  it('ends with its signal', async () => {
    const ending = new AbortController()
    const waiting = until(() => false, 'nothing', { everyMs: 60_000, signal: ending.signal })
    ending.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  })
})
