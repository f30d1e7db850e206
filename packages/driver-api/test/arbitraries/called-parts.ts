import fc from 'fast-check'

import { compareText, type PartOf } from '../../src/policy/index.js'
import {
  count,
  duration,
  fraction,
  host,
  httpProtocol,
  identity,
  ip,
  locality,
  meshService,
  name,
  port,
  positiveCount,
  socketAddress,
  sortedList,
  tcpProtocol,
} from './values.js'
import { bySocket, errorStatus, foreignTls, meshTls, outboundRoute, targets } from './rules.js'

export const outboundPart: fc.Arbitrary<PartOf<'outbound'>> = fc
  .record({
    id: name,
    service: meshService,
    port,
    addresses: sortedList(ip, compareText),
    hosts: sortedList(host, compareText),
    shortHost: name,
    routes: fc.array(outboundRoute, { maxLength: 3 }),
    shares: fc.record({ targets, errorWeight: fc.integer({ min: 1, max: 100 }) }, { requiredKeys: ['targets'] }),
    protocols: fc.oneof(
      httpProtocol.map((value) => ({ kind: 'http' as const, protocol: value })),
      tcpProtocol.map((value) => ({ kind: 'tcp' as const, protocol: value })),
    ),
  })
  .map(({ routes, shares, protocols, ...part }) => ({
    kind: 'outbound' as const,
    ...part,
    hosts: part.hosts.filter((text) => text !== part.shortHost),
    protocol: protocols.protocol,
    rules: protocols.kind === 'http' ? { kind: 'http' as const, routes } : { kind: 'tcp' as const, ...shares },
  }))

const optionalUpstream = fc.record(
  {
    connectTimeoutMs: duration,
    limits: fc.record(
      {
        maxConnections: count,
        maxPendingRequests: count,
        maxRequests: count,
        maxRequestsPerConnection: count,
        maxRetries: count,
      },
      { requiredKeys: [] },
    ),
    circuitBreaker: fc.record(
      {
        statWindowMs: duration,
        minRequests: positiveCount,
        degradedWindowMs: duration,
        slowThresholdMs: duration,
        slowAmount: count,
        slowRatio: fraction,
        errorAmount: count,
        errorRatio: fraction,
        degradedStatusCode: errorStatus,
        degradedBody: fc.string(),
      },
      { requiredKeys: ['statWindowMs', 'minRequests', 'degradedWindowMs', 'degradedStatusCode', 'degradedBody'] },
    ),
    healthCheck: fc.record({
      intervalMs: duration,
      timeoutMs: duration,
      unhealthyThreshold: positiveCount,
      healthyThreshold: positiveCount,
    }),
  },
  { requiredKeys: [] },
)

export const upstreamPart: fc.Arbitrary<PartOf<'upstream'>> = fc
  .record({
    id: name,
    port,
    protocols: fc.oneof(
      httpProtocol.map((value) => ({ http: true, protocol: value })),
      tcpProtocol.map((value) => ({ http: false, protocol: value })),
    ),
    where: fc.oneof(fc.record({ service: meshService, tls: meshTls }), fc.record({ tls: foreignTls })),
    discovery: fc.oneof(
      fc.constant({ kind: 'endpoints' } as const),
      fc.record({ kind: fc.constant('dns' as const), host, port }),
      fc.record({ kind: fc.constant('originalDestination' as const), port }, { requiredKeys: ['kind'] }),
      fc.constant({ kind: 'forwardProxy' } as const),
      fc.record({ kind: fc.constant('static' as const), addresses: sortedList(socketAddress, bySocket) }),
    ),
    loadBalancing: fc.constantFrom(
      { policy: 'round-robin' } as const,
      { policy: 'least-request' } as const,
      { policy: 'hash', on: 'source-ip' } as const,
    ),
    optional: optionalUpstream,
  })
  .map(({ protocols, where, optional: { healthCheck, ...optional }, ...part }) => ({
    kind: 'upstream' as const,
    ...part,
    ...where,
    protocol: protocols.protocol,
    ...optional,
    ...(healthCheck === undefined
      ? {}
      : {
          healthCheck: protocols.http
            ? { ...healthCheck, type: 'http' as const, path: '/healthz/osm' }
            : { ...healthCheck, type: 'tcp' as const },
        }),
  }))

const policyEndpoint = fc
  .record({
    required: fc.record({
      address: ip,
      port,
      weight: count,
      priority: fc.nat(2),
      locality,
      cluster: fc.constantFrom('', 'east'),
    }),
    optional: fc.record({ identity, class: name, path: name.map((text) => `/${text}`) }, { requiredKeys: [] }),
    tls: foreignTls,
  })
  .map(({ required, optional, tls }) => ({ ...required, ...optional, ...(required.cluster === '' ? {} : { tls }) }))

export const endpointsPart: fc.Arbitrary<PartOf<'endpoints'>> = fc.record(
  {
    kind: fc.constant('endpoints' as const),
    id: name,
    preferClose: fc.constant(true as const),
    endpoints: sortedList(policyEndpoint, bySocket),
  },
  { requiredKeys: ['kind', 'id', 'endpoints'] },
)
