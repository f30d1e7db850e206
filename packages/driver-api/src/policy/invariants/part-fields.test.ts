import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { anyPart } from '../../../test/arbitraries.js'
import { bookbuyer, bookstore, mysql } from '../../../test/examples.js'
import type { Principal } from '../../identity.js'
import { hashPart } from '../canonical.js'
import { checkPart } from '../invariants.js'
import type { Part, PartKind, PartOf } from '../parts.js'
import type { ProxyPolicy } from '../policy.js'

function pointers(part: Part): readonly string[] {
  return checkPart(part).map(({ pointer }) => pointer)
}

function partOf<K extends PartKind>(policy: ProxyPolicy, kind: K): PartOf<K> {
  const part = Object.values(policy.parts).find((candidate) => candidate.kind === kind)
  if (part === undefined) throw new Error(`no ${kind}`)
  return part as PartOf<K>
}

describe('checkPart', () => {
  it('finds nothing in arbitrary parts', () => {
    fc.assert(
      fc.property(anyPart, (part) => {
        expect(checkPart(part)).toEqual([])
      }),
    )
  })

  const outbound = partOf(bookbuyer(), 'outbound')
  const inbound = partOf(bookstore(), 'inbound')
  const upstream = partOf(bookbuyer(), 'upstream')
  const endpoints = partOf(bookbuyer(), 'endpoints')
  const trust = partOf(bookbuyer(), 'trust')
  const client = bookbuyer().proxy
  const server = mysql().proxy
  const limit = { bucket: { tokens: 1, intervalMs: 1000, burst: 0 }, statusCode: 429, responseHeaders: [] }
  const socket = { address: '127.0.0.1', port: 9 }
  const authorization = { host: 'authz', port: 9, statPrefix: 'a', timeoutMs: 1000, failureModeAllow: false }
  const targets = [
    { upstream: 'a', weight: 4_000_000_000 },
    { upstream: 'b', weight: 4_000_000_000 },
  ]
  const egress: PartOf<'egress'> = {
    kind: 'egress',
    id: 'e',
    port: 80,
    protocol: 'http',
    hosts: ['a.example'],
    serverNames: [],
    cidrs: [],
    routes: [{ match: {}, targets: [], timeoutMs: 0 }],
    targets: [],
  }
  const ingress: PartOf<'ingress'> = {
    kind: 'ingress',
    id: 'i',
    service: { namespace: 'a', name: 'b' },
    port: 80,
    targetPort: 80,
    protocol: 'http',
    sources: ['10.0.0.0/8'],
    tls: 'none',
    serverNames: [],
    matches: [{}],
    routeLimits: [],
  }

  it.each<[string, Part, readonly string[]]>([
    [
      'a status of errors without a share of them',
      { ...egress, routes: [{ match: {}, targets: [], timeoutMs: 0, errorStatus: 503 }] },
      ['/routes/0/errorStatus'],
    ],
    ['an unsorted list', { ...outbound, hosts: ['b', 'a'] }, ['/hosts/1']],
    ['a duplicate', { ...outbound, hosts: ['a', 'a'] }, ['/hosts/1']],
    ['unsorted allow rules', { ...inbound, rules: reversedAllow(inbound) }, ['/rules/allow/1']],
    ['unsorted methods', { ...ingress, matches: [{ methods: ['PUT', 'GET'] }] }, ['/matches/0/methods/1']],
    [
      'endpoints out of order',
      { ...endpoints, endpoints: [...endpoints.endpoints, ...endpoints.endpoints] },
      ['/endpoints/1'],
    ],
    ['short host among the hosts', { ...outbound, hosts: [outbound.shortHost] }, ['/hosts']],
    ['HTTP rules on a TCP port', { ...inbound, protocol: 'tcp' }, ['/rules/kind', '/rateLimits/http']],
    ['TCP rules on an HTTP port', { ...inbound, rules: { kind: 'tcp', allow: hashPart(trust) } }, ['/rules/kind']],
    ['limits in a deny form', { ...inbound, rules: { kind: 'deny' } }, ['/rateLimits']],
    [
      'authorization of connections',
      { ...partOf(mysql(), 'inbound'), externalAuthorization: authorization },
      ['/externalAuthorization'],
    ],
    [
      'request limits on a TCP port',
      { ...partOf(mysql(), 'inbound'), rateLimits: { http: limit } },
      ['/rateLimits/http'],
    ],
    ['outbound rules of another protocol', { ...outbound, protocol: 'tcp' }, ['/rules/kind']],
    ['weights beyond 32 bits', { ...outbound, protocol: 'tcp', rules: { kind: 'tcp', targets } }, ['/rules/targets']],
    ['plaintext towards a service', { ...upstream, tls: { mode: 'none' } }, ['/tls/mode']],
    ['mesh TLS towards the outside', withoutService(upstream), ['/tls/mode']],
    [
      'an HTTP health check without a path',
      {
        ...upstream,
        healthCheck: { type: 'http', intervalMs: 1, timeoutMs: 1, unhealthyThreshold: 1, healthyThreshold: 1 },
      },
      ['/healthCheck/path'],
    ],
    [
      'own TLS of an endpoint in the own cluster',
      { ...endpoints, endpoints: endpoints.endpoints.map((endpoint) => ({ ...endpoint, tls: upstream.tls })) },
      ['/endpoints/0/tls'],
    ],
    [
      'plaintext of an endpoint in the own cluster',
      { ...endpoints, endpoints: endpoints.endpoints.map((endpoint) => ({ ...endpoint, tls: { mode: 'none' } })) },
      [],
    ],
    ['TLS with callers of a TCP port', { ...ingress, protocol: 'tcp', tls: 'tls', matches: [{}] }, ['/tls']],
    ['requests of a TCP port', { ...ingress, protocol: 'tcp', matches: [{ methods: ['GET'] }] }, ['/matches']],
    ['callers of a TCP port', { ...ingress, protocol: 'tcp', matches: [{}] }, []],
    [
      'an invalid address',
      { ...endpoints, endpoints: endpoints.endpoints.map((endpoint) => ({ ...endpoint, address: 'a.b' })) },
      ['/endpoints/0/address'],
    ],
    ['an outdated minimum', { ...trust, minVersion: 'TLSv1_1' }, ['/minVersion']],
    ['a maximum that refuses all', { ...trust, maxVersion: 'TLSv1_1' }, []],
    ['mtls without principals', { ...ingress, tls: 'mtls' }, ['/allow']],
    ['principals without mtls', { ...ingress, allow: hashPart(trust) }, ['/allow']],
    ['server names without TLS', { ...ingress, serverNames: ['a.example'] }, ['/serverNames']],
    [
      'a source that is not a CIDR',
      { ...ingress, sources: ['10.0.0.1', '10.0.0.2/33', 'fd00::/129'] },
      ['/sources/0', '/sources/1', '/sources/2'],
    ],
    ['HTTP egress without hosts', { ...egress, hosts: [] }, ['/hosts']],
    ['HTTP egress beside any host', { ...egress, hosts: ['*', 'a.example'] }, ['/hosts']],
    ['HTTPS egress with routes', { ...egress, protocol: 'https' }, ['/hosts', '/serverNames', '/routes', '/targets']],
    ['TCP egress by host', { ...egress, protocol: 'tcp' }, ['/hosts', '/routes', '/targets']],
    [
      'administration from outside',
      { ...client, listen: { ...client.listen, admin: { address: '0.0.0.0', port: 1 } } },
      ['/listen/admin/address'],
    ],
    ['a transparent proxy without listeners', { ...client, listen: {} }, ['/listen/inbound', '/listen/outbound']],
    [
      'a transparent proxy with listener addresses',
      { ...client, listen: { ...client.listen, outboundHttp: socket } },
      ['/listen/outboundHttp'],
    ],
    ['an explicit proxy with redirection', { ...server, listen: { inbound: socket } }, ['/listen/inbound']],
    [
      'an explicit proxy that serves nowhere',
      { ...server, inbound: server.inbound.map(({ part, id, local }) => ({ part, id, local })) },
      ['/inbound/0/listen'],
    ],
    ['a foreign namespace', { ...client, namespace: 'bookstore' }, ['/namespace']],
    [
      'a foreign principal',
      { ...client, principal: 'admin.bookbuyer.cluster.local' as Principal },
      ['/principal', '/spiffeId'],
    ],
  ])('finds %s', (_what, part, expected) => {
    expect(pointers(part)).toEqual(expected)
  })
})

function reversedAllow(part: PartOf<'inbound'>): PartOf<'inbound'>['rules'] {
  return part.rules.kind === 'http' ? { ...part.rules, allow: [...part.rules.allow].reverse() } : part.rules
}

function withoutService({ service: _, ...part }: PartOf<'upstream'>): PartOf<'upstream'> {
  return part
}
