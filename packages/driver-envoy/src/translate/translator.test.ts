import { readdirSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Part, PartHash, ProxyPart, ProxyPolicy } from '@osm-ts/driver-api/policy'
import fc from 'fast-check'

import { pinPolicy, type PolicyDraft } from '../../test/pin-policy.js'
import { resourcesAsJson } from '../../test/resources-as-json.js'
import { ResourceDiffer } from '../resources/resource-differ.js'
import type { ProxyResources, ResourceSet, TranslatedType } from '../resources/types.js'
import { Translator } from './translator.js'

const inputs = new URL('../testdata/in/', import.meta.url)
const files = readdirSync(inputs)

function read(file: string): ProxyPolicy {
  return JSON.parse(readFileSync(new URL(file, inputs), 'utf8')) as ProxyPolicy
}

function lookupIn({ parts }: ProxyPolicy): (hash: PartHash) => Part {
  return (hash) => {
    const part = parts[hash]
    if (part === undefined) throw new Error(`the document has no part ${hash}`)
    return part
  }
}

function translate(policy: ProxyPolicy, translator = new Translator()): ProxyResources {
  return translator.translate(policy.proxy, lookupIn(policy), 1)
}

const types = ['cluster', 'endpoints', 'listener', 'extension', 'route'] as const satisfies readonly TranslatedType[]

function versions(resources: ProxyResources): Readonly<Record<string, string>> {
  return Object.fromEntries(types.map((type) => [type, resources.types[type].version]))
}

function version(set: ResourceSet, name: string): string {
  const resource = set.get(name)
  if (resource === undefined) throw new Error(`no resource ${name}`)
  return resource.version
}

/** Lists of a policy whose order means nothing. */
const UNORDERED = new Set([
  'addresses',
  'allow',
  'endpoints',
  'headers',
  'hosts',
  'inbound',
  'ipFamilies',
  'members',
  'methods',
  'outboundBindings',
  'principals',
  'probes',
  'retries',
  'retryOn',
  'serverNames',
  'sets',
  'targets',
])

/** The value with every unordered list in another order. */
function shuffled(value: unknown, random: () => number, member = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => shuffled(item, random))
    if (!UNORDERED.has(member)) return items
    return items
      .map((item) => ({ item, order: random() }))
      .sort((a, b) => a.order - b.order)
      .map(({ item }) => item)
  }
  if (typeof value !== 'object' || value === null) return value
  // Headers of probes are added in their order, unlike those that are matched.
  const inner = (name: string): string => (member === 'target' && name === 'headers' ? '' : name)
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shuffled(item, random, inner(name))]))
}

function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x7fff_ffff
  }
}

/** The document of a file for another instance of the same workload. */
function sibling(policy: ProxyPolicy, changes: Partial<ProxyPart>): ProxyPolicy {
  return { ...policy, proxy: { ...policy.proxy, ...changes } }
}

/** Node shows the collector only to contexts made after the flag was set. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  // The flag brings a function without arguments.
  const collect = runInNewContext('gc') as () => void
  collect()
}

const otherId = '0b6fbeee-0a6c-4b36-9d0c-00000000ffff' as ProxyPart['id']

describe('Translator', () => {
  it('gives the same bytes whatever the order of lists without order', () => {
    const expected = new Map(files.map((file) => [file, versions(translate(read(file)))]))
    fc.assert(
      fc.property(fc.constantFrom(...files), fc.nat(), (file, seed) => {
        const draft = shuffled(read(file), numbers(seed)) as PolicyDraft
        expect(versions(translate(pinPolicy(draft)))).toEqual(expected.get(file))
      }),
      { numRuns: 60 },
    )
  })

  describe('that has done others before', () => {
    const translator = new Translator()

    beforeAll(() => {
      for (const file of files) translate(read(file), translator)
    })

    it.each(files)('gives the same bytes: %s', (file) => {
      expect(versions(translate(read(file), translator))).toEqual(versions(translate(read(file))))
    })
  })

  it('gives proxies of one workload the same sets', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const first = translate(policy, translator)
    const second = translate(sibling(policy, { id: otherId, addresses: ['10.0.1.11'] }), translator)
    for (const type of types) expect(second.types[type]).toBe(first.types[type])
  })

  it('reads nothing of what a second replica of a workload may call', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    translate(policy, translator)
    const kinds = new Set<string>()
    const parts = (hash: PartHash): Part => {
      const part = lookupIn(policy)(hash)
      kinds.add(part.kind)
      return part
    }
    const replica = sibling(policy, {
      id: otherId,
      addresses: ['10.0.1.11'],
      locality: { region: '', zone: '', subZone: '' },
    })
    translator.translate(replica.proxy, parts, 1)
    expect([...kinds].sort()).toEqual(['mesh', 'trust'])
    translator.release(policy.proxy.id)
    expect(versions(translate(replica, translator))).toEqual(versions(translate(replica)))
    translator.release(otherId)
    expect(translator.remembered).toBe(0)
  })

  it('drains connections of the replica whose access was withdrawn, and of no other', () => {
    const translator = new Translator()
    const policy = read('explicit.json')
    const drained = translator.translate(
      policy.proxy,
      lookupIn(policy),
      1,
      new Map([['bookstore/bookstore-v1|14001', 'withdrawn-1']]),
    )
    const other = translate(sibling(policy, { id: otherId }), translator)
    expect(other.types.listener.version).not.toBe(drained.types.listener.version)
    expect(versions(other)).toEqual(versions(translate(policy)))
  })

  it('names the pod of each replica in its listeners where requests are counted', () => {
    const translator = new Translator()
    const policy = read('upstream-settings.json')
    const { workload } = policy.proxy
    const first = translate(policy, translator)
    const second = translate(sibling(policy, { id: otherId, workload: { ...workload, instance: 'other' } }), translator)
    const podOf = (resources: ProxyResources): unknown => resourcesAsJson(resources).listener['outbound-listener']
    expect(podOf(first)).toHaveProperty(['metadata', 'filterMetadata', 'osm.workload', 'pod'], workload.instance)
    expect(podOf(second)).toHaveProperty(['metadata', 'filterMetadata', 'osm.workload', 'pod'], 'other')
  })

  it('has the proxy of a workload that has ended end itself, and no other', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const admin = { address: '127.0.0.1', port: 15000 }
    const listen = { ...policy.proxy.listen, admin }
    const running = translate(sibling(policy, { listen }), translator)
    const ended = translate(sibling(policy, { id: otherId, listen, workloadEnded: true }), translator)
    expect(running.types.cluster.get('sidecar-quit-cluster')).toBeUndefined()
    expect(resourcesAsJson(ended).cluster['sidecar-quit-cluster']).toMatchObject({
      type: 'STATIC',
      loadAssignment: {
        endpoints: [
          {
            lbEndpoints: [{ endpoint: { address: { socketAddress: { address: '127.0.0.1', portValue: 15_000 } } } }],
          },
        ],
      },
      healthChecks: [{ httpHealthCheck: { path: '/quitquitquit', method: 'POST' } }],
    })
    expect(ended.types.cluster.get('bookwarehouse/bookwarehouse|14001')).toBe(
      running.types.cluster.get('bookwarehouse/bookwarehouse|14001'),
    )
    expect(ended.types.listener).toBe(running.types.listener)
  })

  it('has the host of a request choose only among services that share the address that is dialled', () => {
    const { proxy, parts } = read('permissive.json')
    const shared = Object.entries(parts).map(([hash, part]) => [
      hash,
      part.kind === 'outbound' && part.id === 'bookstore/bookstore-v1|14001'
        ? { ...part, sharedWith: ['bookstore/bookstore|14001', 'elsewhere/unknown|14001'] }
        : part,
    ])
    const { route } = resourcesAsJson(
      translate(pinPolicy({ proxy, parts: Object.fromEntries(shared) as PolicyDraft['parts'] })),
    )
    const hosts = ['', '.bookstore', '.bookstore.svc', '.bookstore.svc.cluster', '.bookstore.svc.cluster.local']
    expect(route['rds-outbound.14001|bookstore/bookstore-v1']).toMatchObject({
      virtualHosts: [
        { name: 'outbound_virtual-host|bookstore-v1.bookstore.svc.cluster.local', domains: ['*'] },
        {
          name: 'outbound_virtual-host|bookstore.bookstore.svc.cluster.local',
          domains: hosts.flatMap((domain) => [`bookstore${domain}`, `bookstore${domain}:14001`]).sort(),
        },
      ],
    })
    expect(route['rds-outbound.14001|5']).toMatchObject({
      virtualHosts: [{ domains: ['10.96.0.10'] }, { domains: ['*'] }],
    })
  })

  it('shares what is called between proxies that serve different things', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const first = translate(policy, translator)
    const second = translate(sibling(policy, { id: otherId, inbound: [] }), translator)
    expect(second.types.endpoints).toBe(first.types.endpoints)
    for (const [type, name] of [
      ['cluster', 'bookwarehouse/bookwarehouse|14001'],
      ['route', 'rds-outbound.80|e'],
      ['listener', 'outbound-listener'],
    ] as const) {
      expect(second.types[type].get(name)).toBe(first.types[type].get(name))
      expect(second.types[type].get(name)).toBeDefined()
    }
    expect(second.types.listener.get('inbound-listener')).toBeUndefined()
  })

  it('makes nothing but endpoints again where nothing else has changed', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const first = translate(policy, translator)
    const { endpoints, ...rest } = policy.proxy
    expect(endpoints).toBeDefined()
    const without = translate({ ...policy, proxy: rest }, translator)
    const back = translate(policy, translator)
    for (const type of types.filter((each) => each !== 'endpoints')) {
      expect(without.types[type]).toBe(first.types[type])
      expect(back.types[type]).toBe(first.types[type])
    }
    expect(without.types.endpoints.size).toBe(0)
    expect(versions(without)).toEqual(versions(translate({ ...policy, proxy: rest })))
    expect(versions(back)).toEqual(versions(first))
    translator.release(policy.proxy.id)
    expect(translator.remembered).toBe(0)
  })

  it('tells what renewed endpoints differ in from those before, as a comparison would', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const { endpoints } = translate(policy, translator)
    const hashes = Object.entries(policy.parts).flatMap(([hash, part]) =>
      part.kind === 'endpoints' && part.endpoints.length > 0 ? [{ hash, part }] : [],
    )
    expect(hashes.length).toBeGreaterThan(2)
    const renewed = hashes.map(({ hash, part }, place) => {
      const others = place < 2 ? part.endpoints.slice(1) : part.endpoints
      return [hash as PartHash, { ...part, endpoints: others }] as const
    })
    const before = endpoints.current
    expect(translator.renew(renewed)).toEqual([endpoints])
    const { current, change } = endpoints
    expect(change?.before).toBe(before)
    const { changed, removed } = new ResourceDiffer().diff(before, current)
    expect(change?.diff.changed).toEqual(changed)
    expect(change?.diff.removed).toEqual(removed)
    expect(changed).toHaveLength(2)
    const parts = { ...policy.parts, ...Object.fromEntries(renewed) }
    const whole = new Translator().translate(policy.proxy, lookupIn({ ...policy, parts }), 1)
    expect(current.version).toBe(whole.types.endpoints.version)
  })

  it('remembers nothing once every proxy is released', () => {
    const translator = new Translator()
    const policies = files.map(read)
    for (const policy of policies) translate(policy, translator)
    expect(translator.remembered).toBeGreaterThan(100)
    for (const { proxy } of policies) translator.release(proxy.id)
    expect(translator.remembered).toBe(0)
  })

  it('remembers one revision of a proxy, not its history', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    translate(policy, translator)
    const before = translator.remembered
    translate(read('permissive.json'), translator)
    translate(sibling(policy, { inbound: [] }), translator)
    translate(policy, translator)
    expect(translator.remembered).toBe(before)
  })

  it('does not forget the newer revision of a proxy when an older one is released', () => {
    const translator = new Translator()
    const policy = read('permissive.json')
    const older = translate(policy, translator)
    const newer = translate(sibling(policy, { inbound: [] }), translator)
    translator.release(policy.proxy.id, older)
    expect(translator.remembered).toBeGreaterThan(0)
    translator.release(policy.proxy.id, newer)
    expect(translator.remembered).toBe(0)
  })

  it('forgets what no one has any more, released or not', async () => {
    const translator = new Translator()
    // Not kept: the result is unreachable at once.
    translate(read('permissive.json'), translator)
    expect(translator.remembered).toBeGreaterThan(0)
    // What is remembered goes layer by layer, and a collection takes long where many tests share a process.
    while (translator.remembered > 0) {
      collectGarbage()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(translator.remembered).toBe(0)
  })

  it('changes the chain of a port whose access was withdrawn, and of no other', () => {
    const policy = read('explicit.json')
    const translator = new Translator()
    const http = 'bookstore/bookstore-v1|14001'
    const before = translate(policy, translator).types.listener
    const after = translator.translate(policy.proxy, lookupIn(policy), 2, new Map([[http, 'withdrawn-1']])).types
      .listener
    const changed = [...after].filter(({ name }) => version(after, name) !== version(before, name))
    expect(changed.map(({ name }) => name)).toEqual([`inbound-listener:${http}`])
    const again = translator.translate(policy.proxy, lookupIn(policy), 3, new Map([[http, 'withdrawn-1']])).types
      .listener
    expect(again).toBe(after)
  })

  it('changes no listener when the rules of an HTTP port change', () => {
    const policy = read('smi-http-split.json')
    const before = translate(policy)
    const parts = Object.fromEntries(
      Object.entries(policy.parts).map(([hash, part]) => {
        if (part.kind !== 'inbound' || part.rules.kind !== 'http') return [hash, part]
        return [hash, { ...part, rules: { ...part.rules, allow: part.rules.allow.slice(1) } }]
      }),
    )
    const after = translate(pinPolicy({ proxy: policy.proxy, parts }))
    expect(after.types.listener.version).toBe(before.types.listener.version)
    expect(version(after.types.route, 'rds-inbound.14001')).not.toBe(version(before.types.route, 'rds-inbound.14001'))
  })

  it('changes one route configuration and nothing else when one route of a called service changes', () => {
    const policy = read('permissive.json')
    const changed = 'bookwarehouse/bookwarehouse|80'
    const parts = Object.fromEntries(
      Object.entries(policy.parts).map(([hash, part]) => {
        if (part.kind !== 'outbound' || part.id !== changed || part.rules.kind !== 'http') return [hash, part]
        const routes = part.rules.routes.map((route) => ({ ...route, timeoutMs: 1234 }))
        return [hash, { ...part, rules: { ...part.rules, routes } }]
      }),
    )
    const [before, after] = [translate(policy), translate(pinPolicy({ proxy: policy.proxy, parts }))]
    const differing = types.flatMap((type) =>
      [...after.types[type]].filter(
        ({ name }) => version(after.types[type], name) !== version(before.types[type], name),
      ),
    )
    expect(differing).toHaveLength(1)
    expect(differing[0]?.name).toMatch(/^rds-outbound\.80\|/)
    for (const type of types) expect(after.types[type].size).toBe(before.types[type].size)
  })

  it('waits a second only for silent clients of a server that speaks first on a port of https to the outside', () => {
    const policy = read('egress-policy.json')
    const parts = Object.fromEntries(
      Object.entries(policy.parts).map(([hash, part]) =>
        part.kind === 'outbound' && part.protocol === 'tcp-server-first'
          ? [hash, { ...part, port: 443 }]
          : [hash, part],
      ),
    )
    const listenerOf = (document: ProxyPolicy): unknown =>
      resourcesAsJson(translate(document)).listener['outbound-listener']
    expect(listenerOf(policy)).not.toHaveProperty('continueOnListenerFiltersTimeout')
    expect(listenerOf(pinPolicy({ proxy: policy.proxy, parts }))).toMatchObject({
      listenerFiltersTimeout: '1s',
      continueOnListenerFiltersTimeout: true,
    })
  })

  it('changes nothing but chains of the outbound listener when the first way out by HTTPS opens', () => {
    const { proxy, parts } = read('egress-policy.json')
    const onPortOfHttps = Object.entries(parts).map(([hash, part]) => [
      hash,
      part.kind === 'egress' && part.port === 993 ? { ...part, port: 8443 } : part,
    ])
    const policy = pinPolicy({ proxy, parts: Object.fromEntries(onPortOfHttps) as typeof parts })
    const { egress: _, ...closed } = policy.proxy
    const [before, after] = [{ ...policy, proxy: closed }, policy].map((document) => {
      const listener = resourcesAsJson(translate(document)).listener['outbound-listener']
      const { filterChains, filterChainMatcher, defaultFilterChain, ...rest } = listener as Record<string, unknown>
      return { filterChains, rest: { ...rest, filterChainMatcher: undefined, defaultFilterChain } }
    })
    expect(JSON.stringify(after?.filterChains)).not.toBe(JSON.stringify(before?.filterChains))
    expect(after?.rest).toEqual(before?.rest)
  })

  it('refuses a reference that leads to another kind of part', () => {
    const policy = read('permissive.json')
    const broken = sibling(policy, { mesh: policy.proxy.trust })
    expect(() => translate(broken)).toThrow(expect.objectContaining({ code: 'OSM_POLICY_INVALID' }))
  })
})
