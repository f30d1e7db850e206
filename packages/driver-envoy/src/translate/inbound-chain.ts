import type { Any } from '@bufbuild/protobuf/wkt'
import { HEALTH_CHECK_HEADER, HEALTH_CHECK_PATH, type InboundPart, type PrincipalsPart } from '@osm-ts/driver-api'
import {
  FilterChainSchema,
  type FilterSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { HealthCheckSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/health_check/v3/health_check_pb.js'
import { RBACSchema as HttpRbacSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { RBACSchema as NetworkRbacSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac_pb.js'

import { encode, type Init, pack } from './encode.js'
import { networkFilters } from './filter-order.js'
import { httpManager } from './http-manager.js'
import { isHttp } from './http-protocol.js'
import { headerValue } from './matching.js'
import { names } from './names.js'
import { limitedConnections, unlimitedHttpRequests } from './rate-limits.js'
import { allowRules, denyAll } from './rbac.js'
import type { Settings } from './settings.js'
import { NETWORK_RBAC_STAT_PREFIX, tcpProxy } from './tcp-proxy.js'
import { meshServerTls } from './tls.js'

type FilterInit = Init<typeof FilterSchema>

/** What decides the bytes of a served port's filter chain. */
export interface InboundChain {
  readonly part: InboundPart
  /** Callers of a TCP port; of an HTTP port its virtual host decides. */
  readonly callers: PrincipalsPart | undefined
  /** Transparent mode: one listener has all ports, and the original destination selects. */
  readonly matchPort: boolean
  /** Changes when access was withdrawn. */
  readonly drainEpoch: string | undefined
}

/** Where the drain epoch stands in a chain's metadata. */
const METADATA = 'openservicemesh.io'

/** The filter chain of a served port. It takes mTLS for the service's own SNI names and nothing else. */
export function inboundChain({ part, callers, matchPort, drainEpoch }: InboundChain, settings: Settings): Uint8Array {
  return encode(FilterChainSchema, {
    name: names.inboundChain(part),
    filterChainMatch: {
      transportProtocol: 'tls',
      serverNames: [...part.serverNames].sort(),
      ...(matchPort ? { destinationPort: part.targetPort } : {}),
    },
    ...(isHttp(part.protocol)
      ? { transportSocket: meshServerTls(settings.trust, 'trustDomain'), filters: httpChain(part, settings) }
      : {
          transportSocket: meshServerTls(settings.trust, callers ?? 'nobody'),
          filters: tcpChain(part, callers, settings),
        }),
    // A changed chain is a new one to Envoy: the old one's connections are drained and then closed, those of other chains are left alone.
    ...(drainEpoch === undefined ? {} : { metadata: { filterMetadata: { [METADATA]: { withdrawal: drainEpoch } } } }),
  })
}

/** The virtual host that serves the service: its first SNI name, which no other service on the port has. */
export function servedHost(part: InboundPart): string {
  return [...part.serverNames].sort()[0] ?? part.id
}

function httpChain(part: InboundPart, { mesh }: Settings): FilterInit[] {
  return networkFilters({
    ...connectionLimit(part),
    'envoy.filters.network.http_connection_manager': httpManager({
      routes: names.inboundRoutes(part.targetPort),
      mesh,
      mergeSlashes: true,
      served: { virtualHost: servedHost(part) },
      filters: {
        ...(mesh.activeHealthChecks ? { 'envoy.filters.http.health_check': healthCheck() } : {}),
        // Virtual hosts bring their own rules. Where none does, nothing is allowed.
        'envoy.filters.http.rbac': pack(HttpRbacSchema, { rules: denyAll }),
        'envoy.filters.http.local_ratelimit': unlimitedHttpRequests(),
        'envoy.filters.http.router': pack(RouterSchema, {}),
      },
    }),
  })
}

function tcpChain(part: InboundPart, callers: PrincipalsPart | undefined, { mesh, trust }: Settings): FilterInit[] {
  const rules =
    callers === undefined
      ? denyAll
      : allowRules([{ match: {}, allow: callers }], { kind: 'identity', trustDomain: trust.trustDomain })
  return networkFilters({
    'envoy.filters.network.rbac': pack(NetworkRbacSchema, { statPrefix: NETWORK_RBAC_STAT_PREFIX, rules }),
    ...connectionLimit(part),
    'envoy.filters.network.tcp_proxy': tcpProxy(names.inboundChain(part), names.localCluster(part.id), mesh),
  })
}

function connectionLimit(part: InboundPart): { readonly 'envoy.filters.network.local_ratelimit'?: Any } {
  const limit = part.rateLimits?.tcp
  if (limit === undefined) return {}
  return { 'envoy.filters.network.local_ratelimit': limitedConnections(limit, names.inboundChain(part)) }
}

function healthCheck(): Any {
  return pack(HealthCheckSchema, {
    passThroughMode: false,
    headers: [
      headerValue(':path', { type: 'exact', value: HEALTH_CHECK_PATH }),
      headerValue(HEALTH_CHECK_HEADER, { type: 'exact', value: '1' }),
    ],
  })
}
