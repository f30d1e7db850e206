import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import {
  type EgressPart,
  hashPart,
  type MeshPart,
  type Part,
  type ProxyPart,
  type ProxyPolicy,
  type SetPart,
} from '@osm-ts/driver-api/policy'
import { proxyPart } from '@osm-ts/driver-testkit'

import { resourcesAsJson } from '../../../test/resources-as-json.js'
import { Translator } from '../../translate/translator.js'
import { DrainTracker, type PolicyView } from './drain-tracker.js'
import { deltaProtocol } from '../state/protocols.js'
import { epochsOf, versionLabel } from '../state/version-label.js'

const http = (host: string, port = 80, match: object = {}): EgressPart =>
  ({
    kind: 'egress',
    id: `http|${host}:${port}`,
    port,
    protocol: 'http',
    hosts: [host],
    serverNames: [],
    cidrs: [],
    routes: [{ match, targets: [], timeoutMs: 0 }],
    targets: [],
  }) as unknown as EgressPart
const tcp = (...cidrs: readonly string[]): EgressPart =>
  ({ ...http('x', 9000), id: 'tcp|9000', protocol: 'tcp', hosts: [], routes: [], cidrs }) as unknown as EgressPart
const https = (name: string): EgressPart =>
  ({ ...http(name, 443), protocol: 'https', hosts: [], routes: [], serverNames: [name] }) as unknown as EgressPart

/** A policy that opens those destinations. */
function view(
  egress: readonly EgressPart[],
  { mode = 'transparent', everything = false }: { mode?: ProxyPart['mode']; everything?: boolean } = {},
): PolicyView {
  const mesh = { kind: 'mesh', id: 'mesh', egressEnabled: everything } as unknown as MeshPart
  const members = egress.map((part) => ({ id: part.id, hash: hashPart(part) }))
  const set: SetPart = { kind: 'set', id: 'egress', of: 'egress', members, sets: [] }
  const byHash = new Map([...egress, set, mesh].map((part): [string, Part] => [hashPart(part), part]))
  const proxy: ProxyPart = {
    ...proxyPart('p', 'envoy'),
    mode,
    mesh: hashPart(mesh),
    ...(egress.length > 0 && { egress: hashPart(set) }),
  }
  return { proxy, find: (hash) => byHash.get(hash) }
}

/** Ids of the epochs that a change moves. */
function moved(before: PolicyView, after: PolicyView): readonly string[] {
  return [...new DrainTracker().advance(before, after).keys()]
}

const api = http('api.example.com')
const other = http('other.example.com')

describe('epochs of ways out of the mesh', () => {
  it('move for the port and protocol of a host that is closed, and stay when one is opened', () => {
    expect(moved(view([api]), view([api, other]))).toEqual([])
    expect(moved(view([api, other, http('a.example.com', 81)]), view([api, http('a.example.com', 81)]))).toEqual([
      'egress.http.80',
    ])
  })

  it('move when requests or ranges are closed, and stay when more are opened', () => {
    const reading = http('api.example.com', 80, { methods: ['GET'] })
    expect(moved(view([reading]), view([api]))).toEqual([])
    expect(moved(view([api]), view([reading]))).toEqual(['egress.http.80'])
    expect(moved(view([tcp('10.0.0.0/8')]), view([tcp('10.0.0.0/8', '11.0.0.0/8')]))).toEqual([])
    expect(moved(view([tcp('10.0.0.0/8', '11.0.0.0/8')]), view([tcp('10.0.0.0/8')]))).toEqual(['egress.tcp.9000'])
    expect(moved(view([tcp()]), view([tcp('10.0.0.0/8')]))).toEqual(['egress.tcp.9000'])
    expect(moved(view([tcp('10.0.0.0/8')]), view([tcp()]))).toEqual([])
  })

  it('do not exist for https, each host of which has a chain of its own', () => {
    expect(moved(view([https('a.example.com'), https('b.example.com')]), view([https('a.example.com')]))).toEqual([])
  })

  it('stay while global egress lets out what is closed', () => {
    const everything = { everything: true }
    expect(moved(view([api, other], everything), view([api], everything))).toEqual([])
    expect(moved(view([api], everything), view([api]))).toEqual([])
  })

  it('are one for the forward proxy of explicit mode', () => {
    const mode = 'explicit'
    expect(moved(view([api, other], { mode }), view([api], { mode }))).toEqual(['egress'])
    expect(moved(view([api], { mode }), view([], { mode }))).toEqual(['egress'])
    expect(moved(view([], { mode, everything: true }), view([], { mode }))).toEqual(['egress'])
    expect(moved(view([api], { mode }), view([api, other], { mode }))).toEqual([])
  })

  it('are moved where an earlier part is not known any more', () => {
    const before = view([api, other])
    expect(moved({ ...before, find: () => undefined }, view([api]))).toEqual(['egress.http.80'])
  })

  it('come back with the proxy, and are restored with a policy that did not come into force', () => {
    const drains = new DrainTracker()
    drains.advance(view([api, other]), view([api]))
    const labelled = epochsOf(`hash${versionLabel(drains.epochs)}`)
    const late = new DrainTracker()
    late.advance(undefined, view([api]))
    expect(late.adopt(labelled, view([api]).proxy)).toBe(true)
    expect(late.epochs).toEqual(drains.epochs)

    const { epochs } = late
    late.advance(view([api]), view([]))
    expect([...late.epochs]).toEqual([])
    late.restore(epochs)
    expect(late.assumeWithdrawn({ ids: new Set(), rootsChanged: true }, view([api]).proxy)).toBe(false)
    expect(late.epochs).toEqual(drains.epochs)
  })

  it('move where something changed while the proxy was away, but not with the roots', () => {
    const { proxy } = view([api, http('a.example.com', 81)])
    const drains = new DrainTracker()
    drains.advance(undefined, view([api, http('a.example.com', 81)]))
    const missed = (id: string, rootsChanged: boolean): boolean =>
      drains.assumeWithdrawn({ ids: new Set([id]), rootsChanged }, proxy)
    expect(missed('egress.http.82', true)).toBe(false)
    expect(missed('egress.http.80', true)).toBe(true)
    expect([...drains.epochs.keys()]).toEqual(['egress.http.80'])
  })
})

describe('filter chains of ways out of the mesh', () => {
  const policy = JSON.parse(
    readFileSync(new URL('../../testdata/in/egress-policy.json', import.meta.url), 'utf8'),
  ) as ProxyPolicy
  const lookup = (hash: keyof typeof policy.parts): Part => {
    const part = policy.parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }

  /** Names of the chains that are others with an epoch. */
  function changedBy(id: string): readonly string[] {
    const chains = (epochs: ReadonlyMap<string, string>): Map<string, string> => {
      const { listener } = resourcesAsJson(new Translator().translate(policy.proxy, lookup, 1, epochs))
      const outbound = listener['outbound-listener'] as unknown as {
        readonly filterChains: readonly { name: string }[]
      }
      return new Map(outbound.filterChains.map((chain) => [chain.name, JSON.stringify(chain)]))
    }
    const before = chains(new Map())
    return [...chains(new Map([[id, 'epoch']]))].flatMap(([name, text]) => (before.get(name) === text ? [] : [name]))
  }

  it('have routes that tell a proxy with others from one with these', () => {
    const { route } = new Translator().translate(policy.proxy, lookup, 1, new Map()).types
    const missed = (versionOf: (name: string) => string): readonly string[] => {
      const initialVersions = new Map([...route].map(({ name }) => [name, versionOf(name)]))
      const request = { typeUrl: '', responseNonce: '', subscribe: [], unsubscribe: [], initialVersions }
      return [...deltaProtocol.missedRules(request, route)].filter((id) => id.startsWith('egress'))
    }
    expect(missed((name) => route.get(name)?.version ?? '')).toEqual([])
    expect(missed(() => 'another')).toContain('egress.http.80')
    const only = (name: string): string => (name === 'rds-egress.80' ? 'another' : (route.get(name)?.version ?? ''))
    expect(missed(only)).toEqual(['egress.http.80'])
  })

  it('change with the epoch of their port and protocol alone', () => {
    expect(changedBy('egress.http.80')).toEqual(['egress-http.80'])
    expect(changedBy('egress.http.1')).toEqual([])
  })
})
