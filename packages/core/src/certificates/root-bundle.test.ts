import { X509Certificate } from 'node:crypto'

import { describe, expect, it } from '@jest/globals'

import { generateRoot } from './certificate-authority.js'
import { systemClock } from './clock.js'
import { RootBundle } from './root-bundle.js'

async function newRoot(): Promise<string> {
  const { certificate } = await generateRoot('control-plane', { algorithm: 'ECDSA' }, Date.now())
  return new X509Certificate(certificate).toString()
}

describe('RootBundle', () => {
  it('trusts a root for a while after it was replaced', async () => {
    const [a, b] = [await newRoot(), await newRoot()]
    let now = Date.now()
    const bundle = new RootBundle({ now: () => now, setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    expect(bundle.roots()).toEqual([a])
    expect(bundle.nextChange()).toBeUndefined()
    bundle.set([b])
    expect(bundle.roots()).toEqual([b, a])
    expect(bundle.nextChange()).toBe(now + 1000)
    now += 1000
    expect(bundle.roots()).toEqual([b])
    expect(bundle.nextChange()).toBeUndefined()
  })

  it('names no root twice, and only the last ones that were replaced', async () => {
    const roots: string[] = []
    for (let index = 0; index < 6; index += 1) roots.push(await newRoot())
    const bundle = new RootBundle(systemClock, 60_000)
    for (const root of roots) bundle.set([root])
    expect(bundle.roots()).toEqual([roots[5], roots[4], roots[3], roots[2]])
    bundle.set([roots[4] ?? ''])
    expect(bundle.roots()).toEqual([roots[4], roots[5], roots[3], roots[2]])
  })

  it('goes on where another one has ended', async () => {
    const [a, b, c] = [await newRoot(), await newRoot(), await newRoot()]
    const start = Date.now()
    const bundle = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    bundle.resume([a, b], start - 400)
    expect([bundle.roots(), bundle.nextChange()]).toEqual([[a, b], start + 600])
    // Replaced while no one ran: the day begins now.
    const later = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    later.set([c])
    later.resume([a, b], start - 999)
    expect([later.roots(), later.nextChange()]).toEqual([[c, a, b], start + 1000])
    // Long ago.
    const late = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    late.set([a])
    late.resume([a, b], start - 1000)
    expect([late.roots(), late.nextChange()]).toEqual([[a], undefined])
  })

  it('does not go on trusting what has expired', async () => {
    const [a, b] = [await newRoot(), await newRoot()]
    const bundle = new RootBundle({ now: () => Date.parse('2200-01-01'), setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    bundle.set([b])
    expect(bundle.roots()).toEqual([b])
  })
})
