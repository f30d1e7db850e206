import { describe, expect, it } from '@jest/globals'
import { MemoryCaStore, systemClock, TresorProvider } from '@osm-ts/core'

import { parseRoots, RootBundle } from './root-bundle.js'

async function authority(): Promise<{ readonly root: string; readonly leaf: string }> {
  const key = { algorithm: 'ECDSA' } as const
  const provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: key })
  const names = { commonName: 'osm-injector.osm-system.svc', dnsNames: [], uris: [], ipAddresses: [] }
  const leaf = await provider.issue(
    { kind: 'control-plane', ...names, validityMs: 60_000, key } as never,
    AbortSignal.timeout(5000),
  )
  provider.close()
  return { root: provider.rootCertificate('control-plane').chain, leaf: leaf.chain }
}

describe('parseRoots', () => {
  it('reads every certificate once', async () => {
    const [a, b] = [await authority(), await authority()]
    expect(parseRoots(`# comment\n${a.root}\n${b.root}${a.root}`, 'x')).toEqual([a.root, b.root])
  })

  it.each(['', 'no PEM', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])('refuses %j', (text) => {
    expect(() => parseRoots(text, 'Secret a/b')).toThrow(expect.objectContaining({ code: 'OSM_BOOTSTRAP_ROOT' }))
  })

  it('refuses a certificate that is not one of a CA', async () => {
    const { leaf } = await authority()
    expect(() => parseRoots(leaf, 'Secret a/b')).toThrow('not one of a CA')
  })
})

describe('RootBundle', () => {
  it('trusts a root for a while after it was replaced', async () => {
    const [a, b] = [(await authority()).root, (await authority()).root]
    let now = Date.now()
    const bundle = new RootBundle({ now: () => now, setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    expect(bundle.pem()).toBe(a)
    expect(bundle.nextChange()).toBeUndefined()
    bundle.set([b])
    expect(bundle.pem()).toBe(b + a)
    expect(bundle.nextChange()).toBe(now + 1000)
    now += 1000
    expect(bundle.pem()).toBe(b)
    expect(bundle.nextChange()).toBeUndefined()
  })

  it('names no root twice, and only the last ones that were replaced', async () => {
    const roots: string[] = []
    for (let index = 0; index < 6; index += 1) roots.push((await authority()).root)
    const bundle = new RootBundle(systemClock, 60_000)
    for (const root of roots) bundle.set([root])
    expect(bundle.pem()).toBe([roots[5], roots[4], roots[3], roots[2]].join(''))
    bundle.set([roots[4] ?? ''])
    expect(bundle.pem()).toBe([roots[4], roots[5], roots[3], roots[2]].join(''))
  })

  it('goes on where another one has ended', async () => {
    const [a, b, c] = [(await authority()).root, (await authority()).root, (await authority()).root]
    const start = Date.now()
    const bundle = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    bundle.resume([a, b], start - 400)
    expect([bundle.pem(), bundle.nextChange()]).toEqual([a + b, start + 600])
    // Replaced while nobody ran: the day begins now.
    const later = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    later.set([c])
    later.resume([a, b], start - 999)
    expect([later.pem(), later.nextChange()]).toEqual([c + a + b, start + 1000])
    // Long ago.
    const late = new RootBundle({ now: () => start, setTimer: () => () => undefined }, 1000)
    late.set([a])
    late.resume([a, b], start - 1000)
    expect([late.pem(), late.nextChange()]).toEqual([a, undefined])
  })

  it('does not go on trusting what has expired', async () => {
    const [a, b] = [(await authority()).root, (await authority()).root]
    const bundle = new RootBundle({ now: () => Date.parse('2200-01-01'), setTimer: () => () => undefined }, 1000)
    bundle.set([a])
    bundle.set([b])
    expect(bundle.pem()).toBe(b)
  })
})
