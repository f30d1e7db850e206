import type { IngressPart, MeshPart } from '@osm-ts/driver-api/policy'
import { FilterChainSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'

import { cidrRange } from '../encoding/address.js'
import { connectionLimits } from '../limits/connection-limits.js'
import { drainMetadata } from '../access/drain-epoch.js'
import { encode } from '../encoding/encode.js'
import { networkFilters } from '../routing/filter-order.js'
import { isHttp } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import { servedHttpManager } from '../inbound/served-http.js'
import type { Settings } from '../settings.js'
import { tcpProxy } from '../listeners/tcp-proxy.js'
import { outsideServerTls } from '../access/tls.js'

/** How a caller's TLS hello selects a filter chain. */
export interface IngressMatch {
  /** SNI names; empty for those that no other chain has. */
  readonly serverNames: readonly string[]
  /** Empty for any. */
  readonly applicationProtocols: readonly string[]
}

/** What decides the bytes of a filter chain for callers from outside the mesh. */
export interface IngressChain {
  readonly part: IngressPart
  readonly match: IngressMatch
  /** Transparent mode: one listener has all ports, and the original destination selects. */
  readonly matchPort: boolean
  /** Changes when access was withdrawn. */
  readonly drainEpoch: string | undefined
}

/** What callers from outside may offer. Callers of the mesh offer the protocol of the mesh, and nothing else. */
const OUTSIDE_PROTOCOLS = ['h2', 'http/1.1']

/**
 * The matches by which the callers of a part are told from others on one listener.
 *
 * Envoy follows the name of the hello first, and then does not turn back: who requests a name of the mesh finds the chain of the mesh alone. A part that takes
 * such names as well has a second chain for them, which differs by what is offered in ALPN, so that it takes nothing from callers of the mesh.
 *
 * @param meshNames - SNI names that chains of the mesh have on the same port
 */
export function ingressMatches(
  { tls, serverNames, protocol }: Pick<IngressPart, 'tls' | 'serverNames' | 'protocol'>,
  meshNames: readonly string[],
): readonly IngressMatch[] {
  const any = serverNames.length === 0
  if (!isHttp(protocol)) {
    const everything = { serverNames: [], applicationProtocols: [] }
    // Callers may speak TLS of their own, with a name of the mesh: chains of the mesh take those that offer the protocol of the mesh.
    return meshNames.length === 0 ? [everything] : [everything, { serverNames: meshNames, applicationProtocols: [] }]
  }
  if (tls === 'none') return [{ serverNames: [], applicationProtocols: [] }]
  const own = serverNames.filter((name) => !meshNames.includes(name))
  const shared = any ? meshNames : serverNames.filter((name) => meshNames.includes(name))
  return [
    ...(any || own.length > 0 ? [{ serverNames: [...own].sort(), applicationProtocols: [] }] : []),
    ...(shared.length > 0 ? [{ serverNames: [...shared].sort(), applicationProtocols: OUTSIDE_PROTOCOLS }] : []),
  ]
}

/**
 * The filter chain of a port for callers from outside the mesh. It takes connections of the given sources only; others find no chain, or that of the
 * mesh, which requests a certificate of the mesh.
 */
export function ingressChain(
  { part, match, matchPort, drainEpoch }: IngressChain,
  { mesh, trust }: Settings,
): Uint8Array {
  const name = names.ingressChain(part)
  if (!isHttp(part.protocol)) return bytesChain({ part, match, matchPort, drainEpoch }, mesh)
  return encode(FilterChainSchema, {
    name: match.applicationProtocols.length === 0 ? name : `${name}_alpn`,
    filterChainMatch: {
      transportProtocol: part.tls === 'none' ? 'raw_buffer' : 'tls',
      serverNames: [...match.serverNames],
      applicationProtocols: [...match.applicationProtocols],
      sourcePrefixRanges: [...part.sources].sort().map(cidrRange),
      ...(matchPort ? { destinationPort: part.targetPort } : {}),
    },
    ...(part.tls === 'none'
      ? {}
      : { transportSocket: outsideServerTls(trust, part.tls === 'mtls', part.protocol !== 'http') }),
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

/** Bytes of a port that does not speak HTTP, passed on as they come. */
function bytesChain({ part, match, matchPort, drainEpoch }: IngressChain, mesh: MeshPart): Uint8Array {
  const name = names.ingressChain(part)
  const ofMesh = match.serverNames.length > 0
  return encode(FilterChainSchema, {
    name: ofMesh ? `${name}_tls` : name,
    filterChainMatch: {
      ...(ofMesh ? { transportProtocol: 'tls' } : {}),
      serverNames: [...match.serverNames],
      sourcePrefixRanges: [...part.sources].sort().map(cidrRange),
      ...(matchPort ? { destinationPort: part.targetPort } : {}),
    },
    filters: networkFilters({
      ...connectionLimits(part.rateLimits, name),
      'envoy.filters.network.tcp_proxy': tcpProxy(name, names.localCluster(part.id), mesh),
    }),
    ...drainMetadata(drainEpoch),
  })
}
