import { MESH_ALPN } from '@osm-ts/driver-api'
import type { InboundPart } from '@osm-ts/driver-api/policy'
import {
  FilterChainSchema,
  type FilterSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'

import { connectionLimits } from '../limits/connection-limits.js'
import { drainMetadata } from '../access/drain-epoch.js'
import { encode, type Init } from '../encoding/encode.js'
import { networkFilters } from '../routing/filter-order.js'
import { isHttp } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import { servedHttpManager } from './served-http.js'
import type { Settings } from '../settings.js'
import { tcpProxy } from '../listeners/tcp-proxy.js'
import { meshServerTls } from '../access/tls.js'

type FilterInit = Init<typeof FilterSchema>

/** What decides the bytes of a served port's filter chain. */
export interface InboundChain {
  readonly part: InboundPart
  /** Transparent mode: one listener has all ports, and the original destination selects. */
  readonly matchPort: boolean
  /** True where callers outside the mesh may speak TLS of their own to the port: sidecars are told from them by the protocol that they offer. */
  readonly matchAlpn: boolean
  /** Changes when access was withdrawn. */
  readonly drainEpoch: string | undefined
}

/**
 * The filter chain of a served port. It takes mTLS for the service's own SNI names and nothing else. Who is let in stands elsewhere: for HTTP in the
 * virtual host, for TCP in the secret of the port's callers.
 */
export function inboundChain({ part, matchPort, matchAlpn, drainEpoch }: InboundChain, settings: Settings): Uint8Array {
  return encode(FilterChainSchema, {
    name: names.inboundChain(part),
    filterChainMatch: {
      transportProtocol: 'tls',
      serverNames: [...part.serverNames].sort(),
      ...(matchAlpn ? { applicationProtocols: [MESH_ALPN] } : {}),
      ...(matchPort ? { destinationPort: part.targetPort } : {}),
    },
    ...(isHttp(part.protocol)
      ? { transportSocket: meshServerTls(settings.trust, 'trustDomain'), filters: httpChain(part, settings) }
      : {
          transportSocket: meshServerTls(settings.trust, { secret: names.callersSecret(part.id) }),
          filters: tcpChain(part, settings),
        }),
    ...drainMetadata(drainEpoch),
  })
}

/** The virtual host that serves the service: its first SNI name, which no other service on the port has. */
export function servedHost(part: InboundPart): string {
  return [...part.serverNames].sort()[0] ?? part.id
}

function httpChain(part: InboundPart, { mesh }: Settings): FilterInit[] {
  return networkFilters({
    ...connectionLimits(part.rateLimits, names.inboundChain(part)),
    'envoy.filters.network.http_connection_manager': servedHttpManager({
      routes: names.inboundRoutes(part.targetPort),
      virtualHost: servedHost(part),
      mesh,
      authorization: part.externalAuthorization,
      answersHealthChecks: mesh.activeHealthChecks,
      limit: part.rateLimits?.globalHttp,
      namesWorkload: mesh.requestMetrics,
    }),
  })
}

function tcpChain(part: InboundPart, { mesh }: Settings): FilterInit[] {
  return networkFilters({
    ...connectionLimits(part.rateLimits, names.inboundChain(part)),
    'envoy.filters.network.tcp_proxy': tcpProxy(names.inboundChain(part), names.localCluster(part.id), mesh),
  })
}
