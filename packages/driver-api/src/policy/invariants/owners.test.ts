import { describe, expect, it } from '@jest/globals'

import { bookbuyer } from '../../../test/examples.js'
import { PartBag } from '../../../test/part-bag.js'
import { compareText } from '../order.js'
import type {
  EgressPart,
  IngressPart,
  OutboundPart,
  Part,
  ProbeBinding,
  ProxyPart,
  SetMemberKind,
  SetPart,
  UpstreamPart,
} from '../parts.js'
import { checkPolicy } from '../invariants.js'

const base = bookbuyer().proxy
const targets = [{ upstream: 'out', weight: 1 }]
const upstream: UpstreamPart = {
  kind: 'upstream',
  id: 'out',
  port: 443,
  protocol: 'tcp',
  tls: { mode: 'none' },
  discovery: { kind: 'originalDestination' },
  loadBalancing: { policy: 'round-robin' },
}

function egress(id: string, change: Partial<EgressPart>): EgressPart {
  const empty = { hosts: [], serverNames: [], cidrs: [], routes: [], targets: [] }
  return { kind: 'egress', id, port: 443, protocol: 'tcp', ...empty, targets, ...change }
}

function http(id: string, host: string, port: number): EgressPart {
  const routes = [{ match: {}, targets, timeoutMs: 0 }]
  return egress(id, { protocol: 'http', port, hosts: [host], routes, targets: [] })
}

function outbound(namespace: string, name: string, change: Partial<OutboundPart> = {}): OutboundPart {
  return {
    kind: 'outbound',
    id: `${namespace}/${name}|443`,
    service: { namespace, name },
    port: 443,
    protocol: 'tcp',
    addresses: [],
    hosts: [`${name}.${namespace}`],
    shortHost: name,
    rules: { kind: 'tcp', targets },
    ...change,
  }
}

function ingress(id: string, change: Partial<IngressPart> = {}): IngressPart {
  return {
    kind: 'ingress',
    id,
    service: { namespace: 'a', name: 'b' },
    port: 80,
    targetPort: 80,
    protocol: 'http',
    sources: ['10.0.0.0/8'],
    tls: 'none',
    serverNames: [],
    matches: [{}],
    routeLimits: [],
    ...change,
  }
}

function probe(kind: ProbeBinding['probe'], change: Partial<ProbeBinding>): ProbeBinding {
  const listen = { address: '0.0.0.0', port: 15901 }
  return {
    container: 'c',
    probe: kind,
    listen,
    path: `/${kind}`,
    target: { type: 'http', port: 80 },
    timeoutMs: 1,
    ...change,
  }
}

interface Given {
  readonly egress?: readonly EgressPart[]
  readonly outbound?: readonly OutboundPart[]
  /** Outbound parts of the proxy's own namespace. */
  readonly near?: readonly OutboundPart[]
  readonly ingress?: readonly IngressPart[]
  readonly probes?: readonly ProbeBinding[]
  readonly listen?: ProxyPart['listen']
}

/** Messages about a document with these parts. */
function messages(given: Given): readonly string[] {
  const bag = new PartBag()
  const set = (of: SetMemberKind, id: string, parts: readonly Part[], sets: SetPart['sets'] = []) => {
    const members = parts.map((part) => ({ id: part.id, hash: bag.add(part) })).sort((a, b) => compareText(a.id, b.id))
    return bag.add({ kind: 'set', id, of, members, sets })
  }
  // Short names hold in sets inside the one that is marked.
  const near = (given.near ?? []).map((part) => {
    const inner = { id: `inner/${part.id}`, hash: set('outbound', `inner/${part.id}`, [part]) }
    return { id: `near/${part.id}`, hash: set('outbound', `near/${part.id}`, [], [inner]), shortNames: true as const }
  })
  const { outbound: _, upstreams: __, endpoints: ___, clientRules: ____, ...rest } = base
  const example = bookbuyer()
  for (const part of Object.values(example.parts)) bag.add(part)
  return checkPolicy(
    bag.collect({
      ...rest,
      listen: { ...base.listen, ...given.listen },
      probes: given.probes ?? [],
      ingress: (given.ingress ?? []).map((part) => ({
        part: bag.add(part),
        id: part.id,
        local: { address: '127.0.0.1', port: part.targetPort },
      })),
      upstreams: set('upstream', 'upstreams', [upstream]),
      outbound: set('outbound', 'outbound', given.outbound ?? [], near),
      egress: set('egress', 'egress', given.egress ?? []),
    }),
  ).map(({ message }) => message)
}

const quiet: readonly [string, Given][] = [
  ['egress by host on two ports', { egress: [http('a', 'x.example', 80), http('b', 'x.example', 81)] }],
  ['egress by name on two ports', { egress: [tls('a', 443), tls('b', 444)] }],
  [
    'ranges that overlap without being equal',
    { egress: [egress('a', { cidrs: ['10.0.0.0/8'] }), egress('b', { cidrs: ['10.0.0.0/16'] })] },
  ],
  [
    'HTTPS and server-first on two ports',
    { egress: [tls('a', 443), egress('b', { protocol: 'tcp-server-first', port: 444 })] },
  ],
  ['short names that only others could use', { outbound: [outbound('x', 's'), outbound('y', 's')] }],
  ['probes by path on one address', { probes: [probe('liveness', {}), probe('readiness', {})] }],
  ['DNS beside TCP', { listen: { dns: { address: '0.0.0.0', port: 15010 } } }],
  ['plaintext and TLS from one source', { ingress: [ingress('a'), ingress('b', { tls: 'tls' })] }],
  [
    'two names from one source',
    { ingress: [ingress('a', { tls: 'tls', serverNames: ['x'] }), ingress('b', { tls: 'tls', serverNames: ['y'] })] },
  ],
  ['one source on two ports', { ingress: [ingress('a'), ingress('b', { targetPort: 81 })] }],
  ['an IPv6 listener beside an IPv4 wildcard', { listen: { metrics: { address: 'fd00::1', port: 15001 } } }],
]

function tls(id: string, port: number): EgressPart {
  return egress(id, { protocol: 'https', port, serverNames: ['x.example'] })
}

describe('owners', () => {
  it.each(quiet)('allow %s', (_what, given) => {
    expect(messages(given)).toEqual([])
  })

  it.each<[string, Given, string]>([
    [
      'a host twice',
      { egress: [http('a', 'x.example', 80), http('b', 'x.example', 80)] },
      'x.example port 80 belongs to egress a already',
    ],
    [
      'a host of a service',
      { outbound: [outbound('x', 's')], egress: [http('a', 's.x', 443)] },
      's.x port 443 belongs to outbound x/s|443 already',
    ],
    ['a name twice', { egress: [tls('a', 443), tls('b', 443)] }, 'SNI x.example port 443 belongs to egress a already'],
    [
      'a range twice',
      { egress: [egress('a', { cidrs: ['10.0.0.0/8'] }), egress('b', { cidrs: ['10.0.0.0/8'] })] },
      '10.0.0.0/8 port 443 belongs to egress a already',
    ],
    [
      'any address twice',
      { egress: [egress('a', {}), egress('b', { protocol: 'tcp-server-first' })] },
      'any address port 443 belongs to egress a already',
    ],
    [
      'HTTPS beside server-first egress',
      { egress: [tls('a', 443), egress('b', { protocol: 'tcp-server-first' })] },
      'egress b is server-first on the same port',
    ],
    [
      'HTTPS beside a server-first service',
      { egress: [tls('a', 443)], outbound: [outbound('x', 's', { protocol: 'tcp-server-first' })] },
      'outbound x/s|443 is server-first on the same port',
    ],
    [
      'an address of two services',
      { outbound: [outbound('x', 's', { addresses: ['10.0.0.1'] }), outbound('y', 's', { addresses: ['10.0.0.1'] })] },
      '10.0.0.1 port 443 belongs to outbound x/s|443 already',
    ],
    [
      'a short name that is an outside host',
      { near: [outbound('x', 's')], egress: [http('a', 's', 443)] },
      's port 443 belongs to outbound x/s|443 already',
    ],
    [
      'a source twice',
      { ingress: [ingress('a'), ingress('b')] },
      '10.0.0.0/8 with plaintext on port 80 belongs to ingress a already',
    ],
    [
      'any name twice',
      { ingress: [ingress('a', { tls: 'tls' }), ingress('b', { tls: 'tls' })] },
      '10.0.0.0/8 with any SNI on port 80 belongs to ingress a already',
    ],
    [
      'a probe beside a listener',
      { probes: [probe('liveness', { listen: { address: '0.0.0.0', port: 15010 } })] },
      'the address belongs to the metrics listener already',
    ],
    [
      'a probe of a port of the proxy',
      { probes: [probe('liveness', { target: { type: 'tcp', port: 15010 } })] },
      '15010 is a port of the proxy itself, not of the workload',
    ],
    [
      'a probe of the port of another probe',
      { probes: [probe('liveness', {}), probe('readiness', { target: { type: 'http', port: 15901, path: '/' } })] },
      '15901 is a port of the proxy itself, not of the workload',
    ],
    [
      'probes on a path',
      { probes: [probe('liveness', { path: '/p' }), probe('readiness', { path: '/p' })] },
      '0.0.0.0 15901 /p belongs to the liveness probe of c already',
    ],
    [
      'probes on a wildcard and inside it',
      { probes: [probe('liveness', {}), probe('readiness', { listen: { address: '10.0.0.1', port: 15901 } })] },
      'the address belongs to the liveness probe of c already',
    ],
    [
      'a listener inside a wildcard of both families',
      { listen: { metrics: { address: '::', port: 15001 } } },
      'the address belongs to the outbound listener already',
    ],
  ])('refuse %s', (_what, given, message) => {
    expect(messages(given)).toEqual([message])
  })
})
