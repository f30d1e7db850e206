import { describe, expect, it } from '@jest/globals'
import {
  hashPart,
  type InboundPart,
  type IngressPart,
  type Part,
  type PrincipalsPart,
  type ProxyPart,
  type TrustPart,
} from '@osm-ts/driver-api/policy'
import { proxyPart } from '@osm-ts/driver-testkit'

import { DrainTracker, type PolicyView } from './drain-tracker.js'
import { epochsOf, versionLabel } from '../state/version-label.js'

const principals = (...names: readonly string[]): PrincipalsPart =>
  ({ kind: 'principals', id: names.join(), match: 'names', principals: names }) as unknown as PrincipalsPart
const inbound = (allow: PrincipalsPart, id = 'ns/svc|80'): InboundPart =>
  ({
    kind: 'inbound',
    id,
    targetPort: 80,
    serverNames: ['svc'],
    rules: { kind: 'tcp', allow: hashPart(allow) },
  }) as unknown as InboundPart
const ingress = (sources: readonly string[]): IngressPart =>
  ({
    kind: 'ingress',
    id: 'ns/svc|80',
    targetPort: 80,
    sources,
    tls: 'none',
    serverNames: [],
    matches: [{}],
  }) as unknown as IngressPart
const trust = (...roots: readonly string[]): TrustPart =>
  ({ kind: 'trust', id: 'trust', trustDomain: 'cluster.local', roots }) as unknown as TrustPart

/** A policy with those served parts; principals come along for the lookup. */
function view(parts: readonly Part[], roots: TrustPart = trust('r1')): PolicyView {
  const byHash = new Map([...parts, roots].map((part) => [hashPart(part), part]))
  const bind = (kind: Part['kind']) =>
    parts
      .filter((part) => part.kind === kind)
      .map((part) => ({ id: part.id, part: hashPart(part), local: { address: '127.0.0.1', port: 1 } }))
  const proxy: ProxyPart = {
    ...proxyPart('p', 'envoy'),
    inbound: bind('inbound'),
    ingress: bind('ingress'),
    trust: hashPart(roots),
  }
  return { proxy, find: (hash) => byHash.get(hash) }
}

const both = principals('a', 'b')
const one = principals('a')
const wide = view([inbound(both), both])
const narrow = view([inbound(one), one, both])

describe('the drain typeState', () => {
  const id = 'ns/svc|80'

  it('knows of no withdrawal at first, nor when access is added', () => {
    const drains = new DrainTracker()
    expect([...drains.advance(undefined, narrow)]).toEqual([])
    expect([...drains.advance(narrow, wide)]).toEqual([])
  })

  it('moves the epoch when access is withdrawn, and leaves it when nothing more is', () => {
    const drains = new DrainTracker()
    drains.advance(undefined, wide)
    const moved = drains.advance(wide, narrow).get(id)
    expect(moved).toMatch(/^[\w-]{8}$/)
    expect(drains.advance(narrow, wide).get(id)).toBe(moved)
    expect(drains.advance(wide, wide).get(id)).toBe(moved)
  })

  it('moves it again when the same access is withdrawn again', () => {
    const drains = new DrainTracker()
    const first = drains.advance(wide, narrow).get(id)
    drains.advance(narrow, wide)
    expect(drains.advance(wide, narrow).get(id)).not.toBe(first)
  })

  it('comes to the same epoch on every replica', () => {
    expect(new DrainTracker().advance(wide, narrow)).toEqual(new DrainTracker().advance(wide, narrow))
  })

  it('moves all epochs when a root is withdrawn, none when one is added', () => {
    const other = inbound(both, 'ns/other|81')
    const policy = (...roots: readonly string[]) => view([inbound(both), other, both], trust(...roots))
    const drains = new DrainTracker()
    expect([...drains.advance(policy('r1'), policy('r2', 'r1'))]).toEqual([])
    expect([...drains.advance(policy('r2', 'r1'), policy('r2')).keys()]).toEqual(['ns/other|81', id])
  })

  it('moves it when callers from outside the mesh lose access', () => {
    const drains = new DrainTracker()
    const policy = (...sources: readonly string[]) => view([ingress(sources)])
    expect([...drains.advance(policy('10.0.0.0/8'), policy('10.0.0.0/8', '192.168.0.0/16'))]).toEqual([])
    expect(drains.advance(policy('10.0.0.0/8', '192.168.0.0/16'), policy('10.0.0.0/8')).has(id)).toBe(true)
  })

  it('forgets ports that are no longer served', () => {
    const drains = new DrainTracker()
    drains.advance(wide, narrow)
    expect([...drains.advance(narrow, view([]))]).toEqual([])
  })

  it('takes over what the proxy brings along, before or after the first policy', () => {
    const before = new DrainTracker()
    before.advance(wide, narrow)
    const labelled = epochsOf(`hash${versionLabel(before.epochs)}`)
    expect(labelled.size).toBe(1)

    const early = new DrainTracker()
    expect(early.adopt(labelled, undefined)).toBe(false)
    expect(early.advance(undefined, narrow)).toEqual(before.epochs)

    const late = new DrainTracker()
    late.advance(undefined, narrow)
    expect(late.adopt(labelled, narrow.proxy)).toBe(true)
    expect(late.epochs).toEqual(before.epochs)
    expect(late.adopt(labelled, narrow.proxy)).toBe(false)
  })

  it('drains ports whose rules changed unseen', () => {
    const drains = new DrainTracker()
    drains.advance(undefined, narrow)
    expect(drains.assumeWithdrawn({ ids: new Set(['ns/unknown|1']), rootsChanged: false }, narrow.proxy)).toBe(false)
    expect(drains.assumeWithdrawn({ ids: new Set([id]), rootsChanged: false }, narrow.proxy)).toBe(true)
    expect(drains.epochs.has(id)).toBe(true)
  })
})

describe('labels of versions', () => {
  it.each([
    '',
    'hash',
    'hash~',
    'hash~short.x',
    'hash~abcdefgh',
    'hash~abcdefgh.',
    'hash~abcdefgh.<script>',
    `hash~abcdefgh.${'x'.repeat(17)}`,
  ])('hold nothing that is not well formed: %j', (version) => {
    expect([...epochsOf(version)]).toEqual([])
  })

  it('are bounded', () => {
    const epochs = new Map(Array.from({ length: 500 }, (_, index) => [`ns/svc-${index}|80`, 'epoch']))
    expect(versionLabel(epochs).length).toBeLessThan(2000)
    expect(epochsOf(`h${'~abcdefgh.x'.repeat(10_000)}`).size).toBe(1)
  })
})
