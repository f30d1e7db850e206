import type { EgressPart, HeaderMatch, OutboundRoute } from '@osm-ts/driver-api'
import { type RouteSchema, VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { duration, encode, type Init } from './encode.js'
import { routeMatch } from './matching.js'
import { names } from './names.js'
import { type HostForm, weightedRoute } from './outbound-routes.js'

type RouteInit = Init<typeof RouteSchema>

/** Stands for every host in {@link EgressPart.hosts}. */
const ANY_HOST = '*'

/** True if the part takes requests for any host on its port. */
export function takesAnyHost(part: EgressPart): boolean {
  return part.hosts.includes(ANY_HOST)
}

/** The virtual host of an HTTP destination outside the mesh. */
export function egressVirtualHost(part: EgressPart, form: HostForm): Uint8Array {
  const hosts = [...part.hosts].sort()
  const withPort = hosts.map((host) => `${host}:${part.port}`)
  // Hosts of a wildcard are resolved with the port that the request names, which is 80 if it names none.
  const withoutPort = hosts.filter((host) => part.port === 80 || (form === 'by-port' && !host.startsWith(ANY_HOST)))
  return encode(VirtualHostSchema, {
    name: names.egressVirtualHost(part.id),
    domains: takesAnyHost(part) ? [ANY_HOST] : [...withoutPort, ...withPort].sort(),
    routes: part.routes.map((route) => weightedRoute(takesAnyHost(part) ? onPort(route, part.port) : route)),
  })
}

/** Transparent mode, with global egress: HTTP to hosts that no rule names goes on to the address that was dialled. */
export function passthroughVirtualHost(): Uint8Array {
  return encode(VirtualHostSchema, {
    name: names.egressVirtualHost(ANY_HOST),
    domains: [ANY_HOST],
    routes: [forwardTo(names.passthroughCluster)],
  })
}

/**
 * Explicit mode: what becomes of requests for hosts that nothing else names. Ports are told apart by the host header alone, since all requests arrive at
 * one port.
 *
 * @param anyHost - parts that take any host on their port
 */
export function forwardProxyFallback(anyHost: readonly EgressPart[], egressEnabled: boolean): Uint8Array {
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost(ANY_HOST),
    domains: [ANY_HOST],
    routes: [
      ...anyHost.flatMap((part) => part.routes.map((route) => weightedRoute(onPort(route, part.port)))),
      egressEnabled ? forwardTo(names.forwardProxyCluster) : refusal,
    ],
  })
}

/** The route for requests whose host header names the port, or for port 80 none: they must not choose another one by it. */
function onPort(route: OutboundRoute, port: number): OutboundRoute {
  const host = String.raw`(?:\[[^\]]*\]|[^:]*)`
  const value = port === 80 ? `${host}(?::80)?` : `${host}:${port}`
  const authority: HeaderMatch = { name: ':authority', match: { type: 'regex', value } }
  return { ...route, match: { ...route.match, headers: [...(route.match.headers ?? []), authority] } }
}

function forwardTo(cluster: string): RouteInit {
  return {
    match: routeMatch({}),
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
