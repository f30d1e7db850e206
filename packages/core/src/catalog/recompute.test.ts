import { describe, expect, it } from '@jest/globals'

import type { CatalogUpdate } from './policy-computation.js'
import { DEBOUNCE_CEILING_MS, DEBOUNCE_MS, Recompute } from './recompute.js'

class FakeClock {
  #now = 0
  #timers: { readonly at: number; readonly callback: () => void }[] = []

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers = this.#timers.filter((each) => each !== next)
      this.#now = next.at
      next.callback()
    }
    this.#now = end
  }
}

const roots = (root: string): CatalogUpdate => ({ roots: [root] })

function start(): { readonly clock: FakeClock; readonly loop: Recompute; readonly applied: CatalogUpdate[] } {
  const clock = new FakeClock()
  const applied: CatalogUpdate[] = []
  const loop = new Recompute((update) => {
    applied.push(update)
  }, clock)
  loop.add(roots('first'))
  return { clock, loop, applied }
}

describe('Recompute', () => {
  it('hands the first update over at once', () => {
    expect(start().applied).toEqual([roots('first')])
  })

  it('is idle once everything was taken in', async () => {
    const { clock, loop } = start()
    expect(loop.idle).toBe(true)
    loop.add(roots('a'))
    expect(loop.idle).toBe(false)
    clock.advance(DEBOUNCE_MS)
    expect(loop.idle).toBe(true)
    let finish: () => void = () => undefined
    const slow = new Recompute(() => new Promise<void>((resolve) => (finish = resolve)), clock)
    slow.add(roots('b'))
    expect(slow.idle).toBe(false)
    finish()
    await slow.close()
    expect(slow.idle).toBe(true)
  })

  it('makes one update of a burst', () => {
    const { clock, loop, applied } = start()
    loop.add({ roots: ['a'], endpoints: { services: [{ namespace: 'n', name: 's' }], accounts: [] } })
    clock.advance(DEBOUNCE_MS - 1)
    loop.add({ roots: ['b'], endpoints: { services: [{ namespace: 'n', name: 't' }], accounts: [] } })
    clock.advance(DEBOUNCE_MS - 1)
    expect(applied).toHaveLength(1)
    clock.advance(1)
    expect(applied.slice(1)).toEqual([
      {
        roots: ['b'],
        endpoints: {
          services: [
            { namespace: 'n', name: 's' },
            { namespace: 'n', name: 't' },
          ],
          accounts: [],
        },
      },
    ])
  })

  it('does not wait for the end of a burst that does not end', () => {
    const { clock, loop, applied } = start()
    for (let ms = 0; ms < 3 * DEBOUNCE_CEILING_MS; ms += DEBOUNCE_MS / 2) {
      loop.add(roots(String(ms)))
      clock.advance(DEBOUNCE_MS / 2)
    }
    expect(applied.length).toBeGreaterThanOrEqual(3)
    expect(applied.length).toBeLessThanOrEqual(5)
  })

  it('waits with the next update until the one before has been taken in', async () => {
    const clock = new FakeClock()
    const applied: CatalogUpdate[] = []
    const ends: (() => void)[] = []
    const loop = new Recompute((update) => {
      applied.push(update)
      return new Promise<void>((resolve) => ends.push(resolve))
    }, clock)
    loop.add(roots('first'))
    loop.add(roots('a'))
    clock.advance(DEBOUNCE_MS)
    loop.add(roots('b'))
    clock.advance(DEBOUNCE_MS)
    expect(applied).toEqual([roots('first')])
    ends[0]?.()
    await Promise.resolve()
    await Promise.resolve()
    expect(applied).toEqual([roots('first'), roots('b')])
    // Nothing is overdue: what comes now is collected as ever.
    ends[1]?.()
    await Promise.resolve()
    await Promise.resolve()
    loop.add(roots('c'))
    expect(applied).toHaveLength(2)
    clock.advance(DEBOUNCE_MS)
    expect(applied.slice(2)).toEqual([roots('c')])
    const closed = loop.close()
    let isClosed = false
    void closed.then(() => {
      isClosed = true
    })
    await Promise.resolve()
    expect(isClosed).toBe(false)
    ends[2]?.()
    await closed
  })

  it('drops what it holds when it is closed', async () => {
    const { clock, loop, applied } = start()
    loop.add(roots('late'))
    await loop.close()
    clock.advance(DEBOUNCE_CEILING_MS)
    expect(applied).toHaveLength(1)
  })
})
