import { HEALTH_CHECK_HEADER } from '@osm-ts/driver-api'
import {
  type ActiveHealthCheck,
  compareBy,
  compareText,
  type EndpointsPart,
  type Locality,
  type MeshPart,
  type PartInSet,
  type PolicyEndpoint,
  type PolicyReader,
  type ProxyPart,
  type UpstreamPart,
} from '@osm-ts/driver-api/policy'

import type { Addresses, Check, Upstream } from '../config/upstream-types.js'
import { hostText, socketText } from './address.js'
import type { CredentialNeeds } from './credential-needs.js'
import { outsideTls } from './outside-tls.js'

/** Upstreams of a proxy by id. */
export function upstreams(
  proxy: ProxyPart,
  reader: PolicyReader,
  mesh: MeshPart,
  needs: CredentialNeeds,
): Readonly<Record<string, Upstream>> {
  const endpoints = new Map(reader.members(proxy.endpoints, 'endpoints').map(({ part }) => [part.id, part]))
  const all = reader
    .members(proxy.upstreams, 'upstream')
    .map(
      (member) =>
        [member.part.id, upstream(member, endpoints.get(member.part.id), proxy, reader, mesh, needs)] as const,
    )
  return Object.fromEntries(all)
}

function upstream(
  { part, ref }: PartInSet<UpstreamPart>,
  endpoints: EndpointsPart | undefined,
  { locality }: ProxyPart,
  reader: PolicyReader,
  mesh: MeshPart,
  needs: CredentialNeeds,
): Upstream {
  const { limits = {}, circuitBreaker: breaker, tls } = part
  const outside = tls.mode === 'originate' ? outsideTls(tls, { reader, needs, ref }) : undefined
  // Never in plaintext where TLS was requested: what can't be encrypted has no address.
  const isClosed = tls.mode === 'originate' && outside === undefined
  if (tls.mode === 'mesh' && tls.plaintext === true)
    reader.refuse(ref, '/tls/plaintext', 'class pipy reaches no endpoints without a sidecar; they get no traffic')
  const isDialled = tls.mode === 'mesh' && part.discovery.kind === 'originalDestination'
  if (isDialled)
    reader.refuse(ref, '/discovery', 'class pipy calls no pods by their own addresses; such calls are not answered')
  // Nor are its questions after the health of a server in plaintext.
  if (tls.mode === 'originate' && part.healthCheck !== undefined)
    reader.refuse(ref, '/healthCheck', 'class pipy checks the health of no server that it speaks TLS to for workloads')
  return {
    http2: part.protocol === 'http2' || part.protocol === 'grpc',
    addresses: isClosed || isDialled ? { kind: 'endpoints', priorities: [] } : addressesOf(part, endpoints, locality),
    ...(tls.mode === 'mesh' ? { tls: { serverName: tls.serverName, principals: [...tls.principals].sort() } } : {}),
    ...(outside === undefined ? {} : { outsideTls: outside }),
    connectTimeoutMs: part.connectTimeoutMs ?? mesh.connectTimeoutMs,
    ...(limits.maxRequests === undefined ? {} : { maxRequests: limits.maxRequests }),
    ...(limits.maxRetries === undefined ? {} : { maxRetries: limits.maxRetries }),
    ...(limits.maxRequestsPerConnection === undefined
      ? {}
      : { maxRequestsPerConnection: limits.maxRequestsPerConnection }),
    ...(limits.maxConnections === undefined ? {} : { maxConnections: limits.maxConnections }),
    ...(limits.maxPendingRequests === undefined ? {} : { maxPending: limits.maxPendingRequests }),
    ...(breaker === undefined
      ? {}
      : {
          breaker: {
            windowMs: breaker.statWindowMs,
            minRequests: breaker.minRequests,
            openMs: breaker.degradedWindowMs,
            ...(breaker.slowThresholdMs === undefined ? {} : { slowMs: breaker.slowThresholdMs }),
            ...(breaker.slowAmount === undefined ? {} : { slowAmount: breaker.slowAmount }),
            ...(breaker.slowRatio === undefined ? {} : { slowRatio: breaker.slowRatio }),
            ...(breaker.errorAmount === undefined ? {} : { errorAmount: breaker.errorAmount }),
            ...(breaker.errorRatio === undefined ? {} : { errorRatio: breaker.errorRatio }),
            status: breaker.degradedStatusCode < 200 ? 503 : breaker.degradedStatusCode,
            body: breaker.degradedBody,
          },
        }),
    balancing: part.loadBalancing.policy,
    ...(part.healthCheck === undefined || tls.mode === 'originate' ? {} : { check: checkOf(part.healthCheck) }),
  }
}

function checkOf({ type, path, ...times }: ActiveHealthCheck): Check {
  return { kind: type, path: path ?? '/', header: HEALTH_CHECK_HEADER, ...times }
}

function addressesOf(part: UpstreamPart, endpoints: EndpointsPart | undefined, own: Locality): Addresses {
  const { discovery } = part
  switch (discovery.kind) {
    case 'endpoints':
      return { kind: 'endpoints', priorities: prioritiesOf(endpoints, own) }
    case 'static':
      return { kind: 'endpoints', priorities: [discovery.addresses.map(socketText).sort().map(alike)] }
    case 'dns':
      return { kind: 'endpoints', priorities: [[alike(hostText(discovery.host, discovery.port))]] }
    case 'originalDestination':
      return { kind: 'dialled', ...(discovery.port === undefined ? {} : { port: discovery.port }) }
    case 'forwardProxy':
      return { kind: 'named', port: part.port }
  }
}

function alike(address: string): { readonly address: string; readonly weight: number } {
  return { address, weight: 1 }
}

/** Endpoints by priority, and by how close they are where that counts. */
function prioritiesOf(
  part: EndpointsPart | undefined,
  own: Locality,
): readonly (readonly { readonly address: string; readonly weight: number }[])[] {
  const usable = part?.endpoints.filter(isUsable) ?? []
  const rankOf = ({ priority, locality }: PolicyEndpoint): readonly [number, number] => [
    priority,
    part?.preferClose === true ? distanceOf(locality, own) : 0,
  ]
  const order = compareBy<PolicyEndpoint>(
    (a, b) => rankOf(a)[0] - rankOf(b)[0],
    (a, b) => rankOf(a)[1] - rankOf(b)[1],
    (a, b) => compareText(socketText(a), socketText(b)),
  )
  const groups = new Map<string, { readonly address: string; readonly weight: number }[]>()
  for (const endpoint of [...usable].sort(order)) {
    const key = rankOf(endpoint).join(' ')
    const group = groups.get(key) ?? []
    group.push({ address: socketText(endpoint), weight: endpoint.weight })
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Endpoints that want another form of TLS, plaintext or a path are not reached: nothing of a service of the mesh goes out otherwise. */
function isUsable({ weight, tls, path }: PolicyEndpoint): boolean {
  return weight > 0 && tls === undefined && path === undefined
}

/** 0: the same zone; 1: the same region; 2: elsewhere, or no one knows. */
function distanceOf(there: Locality, here: Locality): number {
  const same = (part: 'region' | 'zone'): boolean => here[part] !== '' && here[part] === there[part]
  const otherRegion = here.region !== '' && there.region !== '' && here.region !== there.region
  // Names of zones may be told apart by their region alone.
  if (same('zone') && !otherRegion) return 0
  return same('region') ? 1 : 2
}
