import type { Principal } from '@osm-ts/driver-api'
import {
  type EndpointsPart,
  hashPart,
  type InboundPart,
  type MeshPart,
  type OutboundPart,
  type Part,
  type PartHash,
  type PrincipalsPart,
  type ProxyPart,
  type RouteMatch,
  type SetPart,
  type TrustPart,
  type UpstreamPart,
} from '@osm-ts/driver-api/policy'

/** A policy by its parts, for {@link FakeHost.publishPolicy} and {@link documentOf}. */
export interface TestPolicy {
  /** Of a proxy part that serves and calls nothing. */
  readonly changes: Partial<ProxyPart>
  readonly parts: readonly Part[]
}

/** The settings of a mesh that has no wishes. */
export const plainMesh: MeshPart = {
  kind: 'mesh',
  id: 'mesh',
  meshName: 'osm',
  logLevel: 'error',
  accessLog: { enabled: false, format: 'json' },
  requestMetrics: false,
  connectTimeoutMs: 1_000,
  tcpIdleTimeoutMs: 60_000,
  streamIdleTimeoutMs: 60_000,
  http1PerRequestLoadBalancing: true,
  http2PerRequestLoadBalancing: true,
  egressEnabled: false,
  withdrawalTimeoutMs: 1_000,
  activeHealthChecks: false,
}

/** What every proxy of a mesh with those roots trusts. */
export function trustOf(...roots: readonly string[]): TrustPart {
  return {
    kind: 'trust',
    id: 'trust',
    trustDomain: 'cluster.local',
    roots,
    minVersion: 'TLSv1_2',
    maxVersion: 'TLSv1_3',
    cipherSuites: [],
    ecdhCurves: [],
    alpn: 'osm',
  }
}

/** Those and no one else, by their principals. */
export function callers(...names: readonly string[]): PrincipalsPart {
  return { kind: 'principals', id: names.join(), match: 'list', principals: names as Principal[] }
}

/** Anyone who is of the trust domain. */
export const everybody: PrincipalsPart = {
  kind: 'principals',
  id: 'everybody',
  match: 'trustDomain',
  trustDomain: 'cluster.local',
}

/** A served port of service `name` in namespace default, and everything that its policy needs. */
export function served(
  name: string,
  listen: number,
  local: number,
  rules: readonly { readonly match?: RouteMatch; readonly allow: PrincipalsPart }[] | PrincipalsPart | 'deny',
  changes: Partial<InboundPart> = {},
): TestPolicy {
  const base = {
    kind: 'inbound',
    id: `default/${name}|${local}`,
    service: { namespace: 'default', name },
    port: 80,
    targetPort: local,
    serverNames: [`${name}.default.svc.cluster.local`],
  } as const
  const part: InboundPart = { ...base, ...rulesOf(rules), ...changes }
  const principals = rules === 'deny' ? [] : 'kind' in rules ? [rules] : rules.map(({ allow }) => allow)
  return {
    changes: {
      inbound: [
        {
          part: hashPart(part),
          id: part.id,
          listen: { address: '127.0.0.1', port: listen },
          local: { address: '127.0.0.1', port: local },
        },
      ],
    },
    parts: [part, ...principals],
  }
}

function rulesOf(
  rules: readonly { readonly match?: RouteMatch; readonly allow: PrincipalsPart }[] | PrincipalsPart | 'deny',
): Pick<InboundPart, 'protocol' | 'rules'> {
  if (rules === 'deny') return { protocol: 'http', rules: { kind: 'deny' } }
  if ('kind' in rules) return { protocol: 'tcp', rules: { kind: 'tcp', allow: hashPart(rules) } }
  const allow = rules.map(({ match = {}, allow: who }) => ({ match, allow: hashPart(who) }))
  return { protocol: 'http', rules: { kind: 'http', hosts: [], allow, routeLimits: [] } }
}

/** A service as called, with the ports of its endpoints on loopback. */
export interface CalledService {
  readonly name: string
  readonly endpoints: readonly number[]
  /** Absent: the service itself. */
  readonly outbound?: Partial<OutboundPart>
  readonly upstream?: Partial<UpstreamPart>
}

/** What a proxy calls. */
export function called(services: readonly CalledService[], listen: Partial<ProxyPart> = {}): TestPolicy {
  const outbound = services.map(outboundOf)
  const upstreams = services.map(upstreamOf)
  const endpoints = services.map(endpointsOf)
  const sets = [setOf('outbound', outbound), setOf('upstream', upstreams), setOf('endpoints', endpoints)] as const
  return {
    changes: {
      outbound: hashPart(sets[0]),
      upstreams: hashPart(sets[1]),
      endpoints: hashPart(sets[2]),
      ...listen,
    },
    parts: [...outbound, ...upstreams, ...endpoints, ...sets],
  }
}

function outboundOf({ name, outbound }: CalledService): OutboundPart {
  return {
    kind: 'outbound',
    id: `default/${name}|80`,
    service: { namespace: 'default', name },
    port: 80,
    protocol: 'http',
    addresses: [],
    hosts: [`${name}.default`],
    shortHost: name,
    rules: {
      kind: 'http',
      routes: [{ match: {}, targets: [{ upstream: `default/${name}|8080`, weight: 100 }], timeoutMs: 0 }],
    },
    ...outbound,
  }
}

function upstreamOf({ name, upstream }: CalledService): UpstreamPart {
  return {
    kind: 'upstream',
    id: `default/${name}|8080`,
    service: { namespace: 'default', name },
    port: 8080,
    protocol: 'http',
    tls: {
      mode: 'mesh',
      serverName: `${name}.default.svc.cluster.local`,
      principals: [`${name}.default.cluster.local` as Principal],
    },
    discovery: { kind: 'endpoints' },
    loadBalancing: { policy: 'round-robin' },
    ...upstream,
  }
}

function endpointsOf({ name, endpoints }: CalledService): EndpointsPart {
  return {
    kind: 'endpoints',
    id: `default/${name}|8080`,
    endpoints: endpoints.map((port) => ({
      address: '127.0.0.1',
      port,
      weight: 100,
      priority: 0,
      locality: { region: '', zone: '', subZone: '' },
      cluster: '',
    })),
  }
}

function setOf(of: SetPart['of'], parts: readonly Part[]): SetPart {
  const members = parts.map((part) => ({ id: part.id, hash: hashPart(part) })).sort((a, b) => (a.id < b.id ? -1 : 1))
  return { kind: 'set', id: of, of, members, sets: [] }
}

/** Policies of one proxy, together. */
export function together(...policies: readonly TestPolicy[]): TestPolicy {
  const inbound = policies.flatMap(({ changes }) => changes.inbound ?? [])
  return {
    changes: Object.assign({}, ...policies.map(({ changes }) => changes), { inbound }) as Partial<ProxyPart>,
    parts: policies.flatMap(({ parts }) => parts),
  }
}

/** The proxy part of a policy, and a look-up of its parts. */
export function documentOf(base: ProxyPart, policy: TestPolicy, trust: TrustPart = trustOf('roots\n')) {
  const parts = new Map<PartHash, Part>([plainMesh, trust, ...policy.parts].map((part) => [hashPart(part), part]))
  const proxy: ProxyPart = { ...base, trust: hashPart(trust), mesh: hashPart(plainMesh), ...policy.changes }
  return {
    proxy,
    parts: (hash: PartHash): Part => {
      const part = parts.get(hash)
      if (part === undefined) throw new Error(`there is no part ${hash}`)
      return part
    },
  }
}
