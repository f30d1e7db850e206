import type { EgressPart, HeaderMatch, OutboundRoute, ProxyPart } from '@osm-ts/driver-api/policy'
import { type RouteSchema, VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { type BreakersByCluster, breakersBehind } from '../upstreams/breakers.js'
import { duration, encode, type Init } from '../encoding/encode.js'
import { routeMatch } from '../routing/matching.js'
import { names } from '../encoding/names.js'
import { repeatedRequests } from '../routing/repeated-requests.js'
import { weightedRoute } from '../outbound/outbound-routes.js'
import { requestDestination } from './tunnel.js'
import { throughGateways, type Tunnel, type WayOut, type EgressGatewayRoutes } from './egress-gateway-routes.js'

type RouteInit = Init<typeof RouteSchema>

/** Stands for every host in {@link EgressPart.hosts}. */
const ANY_HOST = '*'

/** True if the part takes requests for any host on its port. */
export function takesAnyHost(part: EgressPart): boolean {
  return part.hosts.includes(ANY_HOST)
}

/** A host in a host header; IPv6 addresses have brackets. */
const HOST = String.raw`(?:\[[^\]]*\]|[^:]*)`

/** Holds for requests whose host header names a port. */
const NAMES_PORT: HeaderMatch = { name: ':authority', match: { type: 'regex', value: `${HOST}:[0-9]+` } }

/** The virtual host of an HTTP destination outside the mesh. */
export function egressVirtualHost(
  part: EgressPart,
  mode: ProxyPart['mode'],
  way: WayOut | undefined,
  breakers: BreakersByCluster,
): Uint8Array {
  const hosts = [...part.hosts].sort()
  const withPort = hosts.map((host) => `${host}:${part.port}`)
  // Hosts of a wildcard are resolved with the port that the request names, which is 80 if it names none.
  const withoutPort = hosts.filter((host) => part.port === 80 || (mode === 'transparent' && !host.startsWith(ANY_HOST)))
  return encode(VirtualHostSchema, {
    name: names.egressVirtualHost(part.id),
    domains: takesAnyHost(part) ? [ANY_HOST] : [...withoutPort, ...withPort].sort(),
    routes: [...egressRoutes(part, way, breakers)],
    retryPolicy: repeatedRequests,
  })
}

function egressRoutes(part: EgressPart, way: WayOut | undefined, breakers: BreakersByCluster): readonly RouteInit[] {
  const broken = way === undefined ? breakers : breakersBehind(breakers, way.tunnel)
  return throughGateways(part, way).routes.flatMap((route, index): readonly RouteInit[] => {
    const limited = takesAnyHost(part) ? onPort(route, part.port) : route
    const destination = way?.destinations[index]
    if (destination === undefined) return [weightedRoute(limited, broken)]
    if (destination.kind !== 'named') return [tunnelled(weightedRoute(limited, broken), destination)]
    const withPort = {
      ...limited,
      match: { ...limited.match, headers: [...(limited.match.headers ?? []), NAMES_PORT] },
    }
    return [
      tunnelled(weightedRoute(withPort, broken), { kind: 'named', withPort: true }),
      // On other ports requests have to name it to come here.
      ...(part.port === 80 ? [tunnelled(weightedRoute(limited, broken), { kind: 'named', withPort: false })] : []),
    ]
  })
}

function tunnelled(route: RouteInit, destination: Parameters<typeof requestDestination>[0]): RouteInit {
  return { ...route, typedPerFilterConfig: requestDestination(destination) }
}

/** Transparent mode, with global egress: HTTP to hosts that no rule names continues to the address that was dialled. */
export function passthroughVirtualHost(tunnel: Tunnel | undefined): Uint8Array {
  return encode(VirtualHostSchema, {
    name: names.egressVirtualHost(ANY_HOST),
    domains: [ANY_HOST],
    routes: [
      tunnel === undefined
        ? forwardTo(names.passthroughCluster)
        : tunnelled(forwardTo(names.tunnelledCluster(names.passthroughCluster, tunnel.name)), { kind: 'dialled' }),
    ],
    retryPolicy: repeatedRequests,
  })
}

/**
 * Explicit mode: what becomes of requests for hosts that nothing else names. Ports are told apart by the host header alone, since all requests arrive at
 * one port.
 *
 * @param anyHost - parts that take any host on their port
 * @param egressGatewayRoutes - what leaves through gateways
 * @param breakers - statistical breakers of upstreams
 */
export function forwardProxyFallback(
  anyHost: readonly EgressPart[],
  egressEnabled: boolean,
  egressGatewayRoutes: EgressGatewayRoutes,
  breakers: BreakersByCluster,
): Uint8Array {
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost(ANY_HOST),
    domains: [ANY_HOST],
    routes: [
      ...anyHost.flatMap((part) => egressRoutes(part, egressGatewayRoutes.byPart.get(part.id), breakers)),
      ...(egressEnabled ? passthroughRoutes(egressGatewayRoutes.others) : [refusal]),
    ],
    retryPolicy: repeatedRequests,
  })
}

function passthroughRoutes(tunnel: Tunnel | undefined): readonly RouteInit[] {
  if (tunnel === undefined) return [forwardTo(names.forwardProxyCluster)]
  const cluster = names.tunnelledCluster(names.forwardProxyCluster, tunnel.name)
  return [
    tunnelled(forwardTo(cluster, [NAMES_PORT]), { kind: 'named', withPort: true }),
    tunnelled(forwardTo(cluster), { kind: 'named', withPort: false }),
  ]
}

/** The route for requests whose host header names the port, or for port 80 none: they must not choose another one by it. */
function onPort(route: OutboundRoute, port: number): OutboundRoute {
  const value = port === 80 ? `${HOST}(?::80)?` : `${HOST}:${port}`
  const authority: HeaderMatch = { name: ':authority', match: { type: 'regex', value } }
  return { ...route, match: { ...route.match, headers: [...(route.match.headers ?? []), authority] } }
}

function forwardTo(cluster: string, headers: readonly HeaderMatch[] = []): RouteInit {
  return {
    match: routeMatch({ headers }),
    action: {
      case: 'route',
      value: { clusterSpecifier: { case: 'cluster', value: cluster }, timeout: duration(0) },
    },
  }
}

const refusal: RouteInit = {
  match: routeMatch({}),
  action: {
    case: 'directResponse',
    value: {
      status: 403,
      body: { specifier: { case: 'inlineString', value: 'host is not in the mesh, and egress is off' } },
    },
  },
}
