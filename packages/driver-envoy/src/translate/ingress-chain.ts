import type { IngressPart } from '@osm-ts/driver-api'
import { FilterChainSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'

import { cidrRange } from './address.js'
import { connectionLimits } from './connection-limits.js'
import { drainMetadata } from './drain-epoch.js'
import { encode } from './encode.js'
import { networkFilters } from './filter-order.js'
import { names } from './names.js'
import { servedHttpManager } from './served-http.js'
import type { Settings } from './settings.js'
import { outsideServerTls } from './tls.js'

/** What decides the bytes of a filter chain for callers from outside the mesh. */
export interface IngressChain {
  readonly part: IngressPart
  /** Transparent mode: one listener has all ports, and the original destination selects. */
  readonly matchPort: boolean
  /** Changes when access was withdrawn. */
  readonly drainEpoch: string | undefined
}

/**
 * The filter chain of a port for callers from outside the mesh. It takes connections of the given sources only; others find no chain, or that of the
 * mesh, which asks for a certificate of the mesh.
 */
export function ingressChain({ part, matchPort, drainEpoch }: IngressChain, { mesh, trust }: Settings): Uint8Array {
  const name = names.ingressChain(part)
  return encode(FilterChainSchema, {
    name,
    filterChainMatch: {
      transportProtocol: part.tls === 'none' ? 'raw_buffer' : 'tls',
      serverNames: [...part.serverNames].sort(),
      sourcePrefixRanges: [...part.sources].sort().map(cidrRange),
      ...(matchPort ? { destinationPort: part.targetPort } : {}),
    },
    ...(part.tls === 'none' ? {} : { transportSocket: outsideServerTls(trust, part.tls === 'mtls') }),
    filters: networkFilters({
      ...connectionLimits(part.rateLimits, name),
      'envoy.filters.network.http_connection_manager': servedHttpManager({
        routes: names.ingressRoutes,
        virtualHost: part.id,
        mesh,
        authorization: part.externalAuthorization,
        answersHealthChecks: false,
        limit: part.rateLimits?.globalHttp,
        namesWorkload: false,
      }),
    }),
    ...drainMetadata(drainEpoch),
  })
}
