import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { bookbuyer, bookstore, ledger } from '../../test/examples.js'
import { bagOf, rebuilt } from '../../test/part-bag.js'
import { proxyPolicy } from '../../test/policy-arbitraries.js'
import { hashPart } from './canonical.js'
import { checkPolicy } from './invariants.js'
import type { Part, PartHash, PartKind, PartOf, ProxyPart } from './parts.js'
import type { ProxyPolicy } from './policy.js'

/** A change of the parts of one kind. */
function changing<K extends PartKind>(kind: K, change: (part: PartOf<K>) => Partial<PartOf<K>>) {
  // The spread of a part and members of its own kind is a part of that kind.
  return (part: Part): Part => (part.kind === kind ? { ...part, ...change(part as PartOf<K>) } : part)
}

/** Pointers of the issues, hashes named by the ids of their parts. */
function found(policy: ProxyPolicy): readonly string[] {
  return checkPolicy(policy).map(({ pointer }) =>
    pointer.replace(
      /^\/parts\/([^/]{32})/,
      (_, hash: string) => `${policy.parts[hash]?.kind ?? ''} ${policy.parts[hash]?.id ?? ''} `,
    ),
  )
}

function partOf<K extends PartKind>(policy: ProxyPolicy, kind: K): PartOf<K> {
  const part = Object.values(policy.parts).find((candidate) => candidate.kind === kind)
  if (part === undefined) throw new Error(`no ${kind}`)
  return part as PartOf<K>
}

describe('checkPolicy', () => {
  const buyer = bookbuyer()

  it('finds nothing in arbitrary documents', () => {
    fc.assert(
      fc.property(proxyPolicy, (policy) => {
        expect(checkPolicy(policy)).toEqual([])
      }),
    )
  })

  it('finds a part that was changed under its hash', () => {
    fc.assert(
      fc.property(proxyPolicy, fc.nat(), (policy, place) => {
        const hashes = Object.keys(policy.parts)
        const hash = hashes[place % hashes.length] ?? ''
        const tampered = {
          ...policy,
          parts: { ...policy.parts, [hash]: { ...policy.parts[hash], id: 'tampered' } as Part },
        }
        expect(checkPolicy(tampered).map(({ pointer }) => pointer)).toContain(`/parts/${hash}`)
      }),
    )
  })

  it('finds keys out of order', () => {
    const reversed = { ...buyer, parts: Object.fromEntries(Object.entries(buyer.parts).reverse()) }
    expect(checkPolicy(reversed)).toEqual([
      { pointer: `/parts/${Object.keys(buyer.parts).at(-2) ?? ''}`, message: 'keys must be sorted' },
    ])
  })

  it('finds a part that is missing, wherever it was referred to', () => {
    fc.assert(
      fc.property(proxyPolicy, fc.nat(), (policy, place) => {
        const hashes = Object.keys(policy.parts)
        const hash = hashes[place % hashes.length] ?? ''
        const parts = Object.fromEntries(Object.entries(policy.parts).filter(([other]) => other !== hash))
        expect(checkPolicy({ ...policy, parts }).map(({ message }) => message)).toContain(
          `no part has the hash ${hash}`,
        )
      }),
    )
  })

  it.each<[string, ProxyPolicy, readonly string[]]>([
    ['the hash of another proxy part', { ...buyer, version: bookstore().version }, ['/version']],
    [
      'a part that nothing refers to',
      sortedParts({ ...buyer, parts: { ...buyer.parts, [hashPart(ledger().proxy)]: ledger().proxy } }),
      ['proxy 6e3d9f7a-31f4-4c8e-9d53-6f6f0f1a2b03 '],
    ],
    [
      'a reference to the wrong kind',
      rebuilt(
        buyer,
        changing('proxy', (part) => ({ trust: part.mesh })),
      ),
      ['/proxy/trust'],
    ],
    [
      'a set of the wrong kind',
      rebuilt(
        buyer,
        changing('proxy', ({ upstreams }) => (upstreams === undefined ? {} : { egress: upstreams })),
      ),
      ['/proxy/egress'],
    ],
    [
      'a binding with the id of another part',
      rebuilt(
        bookstore(),
        changing('proxy', ({ inbound }) => ({
          inbound: inbound.map((binding, index) => (index === 0 ? { ...binding, id: 'a' } : binding)),
        })),
      ),
      ['/proxy/inbound/0/part'],
    ],
    [
      'client rules of another identity',
      rebuilt(
        buyer,
        changing('clientRules', () => ({ id: 'other.ns' as ProxyPart['identity'] })),
      ),
      ['/proxy/clientRules'],
    ],
    [
      'another trust domain',
      rebuilt(
        buyer,
        changing('trust', () => ({ trustDomain: 'elsewhere' })),
      ),
      ['/proxy/principal'],
    ],
    [
      'a route to an unknown upstream',
      rebuilt(
        buyer,
        changing('outbound', () => ({
          rules: { kind: 'http', routes: [{ match: {}, targets: [{ upstream: 'a', weight: 1 }], timeoutMs: 0 }] },
        })),
      ),
      ['bookstore-v1', 'bookstore-v2', 'bookstore'].map(
        (name) => `outbound bookstore/${name}|14001 /rules/routes/0/targets/0/upstream`,
      ),
    ],
    [
      'an upstream without endpoints',
      rebuilt(
        buyer,
        changing('proxy', ({ endpoints: _, ...part }) => ({ ...part, endpoints: undefined }) as never),
      ),
      ['upstream bookstore/bookstore-v1|14001 /discovery', 'upstream bookstore/bookstore-v2|14001 /discovery'],
    ],
    [
      'endpoints that no upstream wants',
      rebuilt(
        buyer,
        changing('upstream', ({ id }) => (id.includes('v1') ? { discovery: { kind: 'forwardProxy' } } : {})),
      ),
      ['endpoints bookstore/bookstore-v1|14001 /id'],
    ],
    [
      'retries towards what is not called',
      rebuilt(
        buyer,
        changing('clientRules', ({ retries }) => ({ retries: retries.map((retry) => ({ ...retry, outbound: 'a' })) })),
      ),
      ['clientRules bookbuyer.bookbuyer /retries/0/outbound'],
    ],
    [
      'gateways and credentials for what is no egress',
      rebuilt(
        buyer,
        changing('clientRules', () => ({
          egressCredentials: [{ egress: 'a', credential: { kind: 'service' } }],
          gateways: [
            { egress: '*', mode: 'socks5', targets: [{ upstream: 'a', weight: 1 }] },
            { egress: 'b', mode: 'socks5', targets: [] },
          ],
        })),
      ),
      [
        'clientRules bookbuyer.bookbuyer /egressCredentials/0/egress',
        'clientRules bookbuyer.bookbuyer /gateways/0/targets/0/upstream',
        'clientRules bookbuyer.bookbuyer /gateways/1/egress',
      ],
    ],
    [
      'two owners of an address',
      rebuilt(
        buyer,
        changing('outbound', () => ({ addresses: ['10.0.0.1'] })),
      ),
      ['outbound bookstore/bookstore-v2|14001 /addresses', 'outbound bookstore/bookstore|14001 /addresses'],
    ],
    [
      'two owners of a host',
      rebuilt(
        buyer,
        changing('outbound', ({ id, hosts }) => (id.includes('-v') ? { hosts: ['x.y'] } : { hosts })),
      ),
      ['outbound bookstore/bookstore-v2|14001 /hosts'],
    ],
    [
      'two owners of an SNI name',
      rebuilt(
        bookstore(),
        changing('inbound', () => ({ serverNames: ['bookstore.example'] })),
      ),
      ['/proxy/inbound/1'],
    ],
    [
      'two listeners on one port',
      rebuilt(
        buyer,
        changing('proxy', ({ listen }) => ({
          listen: { ...listen, metrics: { address: '10.244.1.10', port: 15001 } },
        })),
      ),
      ['/proxy/listen/metrics'],
    ],
    [
      'an outbound binding of an HTTP port',
      rebuilt(
        ledger(),
        changing('outbound', ({ rules }) => ({
          protocol: 'http',
          rules: {
            kind: 'http',
            routes: rules.kind === 'tcp' ? [{ match: {}, targets: rules.targets, timeoutMs: 0 }] : [],
          },
        })),
      ),
      ['/proxy/outboundBindings/0/id'],
    ],
    [
      'a private key',
      rebuilt(
        buyer,
        changing('trust', ({ roots }) => ({ roots: [`${roots[0] ?? ''}-----BEGIN EC PRIVATE KEY-----`] })),
      ),
      ['trust trust '],
    ],
    [
      'a private key in the root',
      rebuilt(
        buyer,
        changing('proxy', ({ workload }) => ({ workload: { ...workload, name: '-----BEGIN PRIVATE KEY-----' } })),
      ),
      ['/proxy'],
    ],
    [
      'a value without a hash',
      (() => {
        const extension: Part = { kind: 'extension', id: 'e', class: 'envoy', type: 't', value: 1 }
        const hash = hashPart(extension)
        const proxy: ProxyPart = { ...buyer.proxy, extensions: [hash] }
        const broken = { ...extension, value: Number.NaN }
        return sortedParts({ ...buyer, version: hashPart(proxy), proxy, parts: { ...buyer.parts, [hash]: broken } })
      })(),
      ['extension e '],
    ],
    [
      'an extension of another class',
      (() => {
        const extension: Part = { kind: 'extension', id: 'e', class: 'pipy', type: 't', value: 1 }
        const hash = hashPart(extension)
        const proxy: ProxyPart = { ...buyer.proxy, extensions: [hash] }
        return sortedParts({ ...buyer, version: hashPart(proxy), proxy, parts: { ...buyer.parts, [hash]: extension } })
      })(),
      ['/proxy/extensions/0'],
    ],
  ])('finds %s', (_what, policy, expected) => {
    expect(found(policy)).toEqual(expected)
  })

  it('finds an id that is in a set and in a nested set', () => {
    const policy = ledger()
    const service = partOf(policy, 'outbound')
    const twice = rebuilt(
      policy,
      changing('set', ({ id }) =>
        id === 'outbound/ledger.bank' ? { members: [{ id: service.id, hash: hashPart(service) }] } : {},
      ),
    )
    expect(checkPolicy(twice).map(({ message }) => message)).toContain(
      `${service.id} is a member of set outbound/ledger.bank already`,
    )
  })

  it('finds short names of what has none', () => {
    const { proxy, parts } = ledger()
    const bag = bagOf(ledger())
    const inner = proxy.upstreams
    if (inner === undefined) throw new Error('the example has upstreams')
    const id = parts[inner]?.id ?? ''
    const outer = bag.add({
      kind: 'set',
      id: 'outer',
      of: 'upstream',
      members: [],
      sets: [{ id, hash: inner, shortNames: true }],
    })
    expect(found(bag.collect({ ...proxy, upstreams: outer }))).toEqual(['set outer /sets/0/shortNames'])
  })

  it('finds a set that is reached twice, without following it again', () => {
    const policy = ledger()
    const inner = Object.entries(policy.parts).find(([, part]) => part.id === 'outbound/bank')
    if (inner === undefined) throw new Error('the example nests a set')
    const twice = rebuilt(
      policy,
      changing('set', ({ id, sets }) =>
        id === 'outbound/ledger.bank' ? { sets: [{ id: 'outbound/bank', hash: inner[0] as PartHash }, ...sets] } : {},
      ),
    )
    expect(checkPolicy(twice).map(({ message }) => message)).toEqual([
      expect.stringContaining('sorted'),
      'set outbound/bank is reached twice, and with it all its members',
    ])
  })
})

function sortedParts(policy: ProxyPolicy): ProxyPolicy {
  return { ...policy, parts: Object.fromEntries(Object.entries(policy.parts).sort(([a], [b]) => (a < b ? -1 : 1))) }
}
