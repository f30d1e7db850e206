import { describe, expect, it } from '@jest/globals'
import type { TrustBundle } from '@osm-ts/driver-api'

import { TrustRoots } from './trust-roots.js'

/** Runs what it is given when it is told to. */
class ManualTurns {
  readonly #waiting: (() => void)[] = []

  run<T>(work: () => T): Promise<T> {
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        resolve(work())
      })
    })
  }

  next(): void {
    this.#waiting.shift()?.()
  }
}

function start() {
  const turns = new ManualTurns()
  const roots = new TrustRoots(turns)
  const over = new AbortController()
  const bundles: TrustBundle[] = [{ id: 'first', certificates: ['first'] }]
  const more: (() => void)[] = []
  const trustBundles = async function* () {
    for (;;) {
      for (let bundle = bundles.shift(); bundle !== undefined; bundle = bundles.shift()) yield bundle
      if (over.signal.aborted) return
      await new Promise<void>((resolve) => more.push(resolve))
    }
  }
  const followed = roots.follow({ trustBundles }, over.signal)
  const wake = () => {
    for (const resolve of more.splice(0)) resolve()
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    turns,
    roots,
    settle,
    rotate: async (id: string) => {
      bundles.push({ id, certificates: [id] })
      wake()
      await settle()
    },
    end: async () => {
      over.abort()
      wake()
      await followed
    },
  }
}

describe('TrustRoots', () => {
  it('tells who comes the roots in force at once, and of later ones each in its turn', async () => {
    const { turns, roots, settle, rotate, end } = start()
    await settle()
    const heard: string[] = []
    const stay = new AbortController()
    const leave = new AbortController()
    roots.listen(() => heard.push('stays'), stay.signal)
    roots.listen(() => heard.push('leaves'), leave.signal)
    roots.listen(() => heard.push('last'), stay.signal)
    expect(heard).toEqual(['stays', 'leaves', 'last'])
    heard.length = 0
    await rotate('second')
    expect(heard).toEqual([])
    turns.next()
    leave.abort()
    turns.next()
    turns.next()
    expect(heard).toEqual(['stays', 'last'])
    await settle()
    stay.abort()
    await rotate('third')
    expect(heard).toEqual(['stays', 'last'])
    await end()
  })
})
