import type { Any } from '@bufbuild/protobuf/wkt'
import type { HttpLocalRateLimit, InboundPart, RouteLimits, RouteMatch } from '@osm-ts/driver-api'
import { type RouteSchema, VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { RBACPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'

import { appendTo, duration, encode, type Init, pack } from './encode.js'
import { HTTP_LOCAL_RATE_LIMIT, HTTP_RBAC } from './filter-order.js'
import { SERVICE_HEADER } from './http-manager.js'
import { servedHost } from './inbound-chain.js'
import { routeMatch } from './matching.js'
import { names } from './names.js'
import { pathRuleRoutes } from './path-rule.js'
import { limitedHttpRequests } from './rate-limits.js'
import { allowRules, denyAll, type ResolvedRule } from './rbac.js'

type RouteInit = Init<typeof RouteSchema>

/** What decides the bytes of a served service's virtual host. */
export interface InboundVirtualHost {
  readonly part: InboundPart
  /** Rules of an HTTP port; empty in the deny form. */
  readonly rules: readonly ResolvedRule[]
  readonly trustDomain: string
  /** Host names that another service on the port has as well and keeps: Envoy refuses a name that stands twice. They select nothing here. */
  readonly hostsOfOthers: readonly string[]
}

/** The virtual host of a served service. Its rules come with routes rather than with the listener, so that a change of them drains no connection. */
export function inboundVirtualHost({ part, rules, trustDomain, hostsOfOthers }: InboundVirtualHost): Uint8Array {
  const others = new Set(hostsOfOthers)
  const domains = hostsOf(part).filter((host) => !others.has(host))
  const virtualHost = { name: names.inboundVirtualHost(servedHost(part)), domains }
  if (part.rules.kind !== 'http') {
    return encode(VirtualHostSchema, {
      ...virtualHost,
      routes: [{ match: routeMatch({}), action: { case: 'directResponse', value: { status: 403 } } }],
      typedPerFilterConfig: { [HTTP_RBAC]: pack(RBACPerRouteSchema, { rbac: { rules: denyAll } }) },
    })
  }
  return encode(VirtualHostSchema, {
    ...virtualHost,
    routes: [
      ...pathRuleRoutes(),
      ...part.rules.routeLimits.map((limits) => limitedRoute(part.id, limits)),
      localRoute(part.id, {}),
    ],
    typedPerFilterConfig: {
      ...limitConfig(part.rateLimits?.http),
      [HTTP_RBAC]: pack(RBACPerRouteSchema, {
        rbac: { rules: allowRules(rules, { kind: 'identity', trustDomain }) },
      }),
    },
  })
}

/** The names of a virtual host: those of the service, and the SNI names, one of which selects it. */
export function hostsOf(part: InboundPart): readonly string[] {
  const hosts = part.rules.kind === 'http' ? part.rules.hosts : []
  return [...new Set([...part.serverNames, ...hosts])].sort()
}

/** The route configuration of a workload port, around the virtual hosts of the services on it. */
export function inboundRouteConfiguration(port: number, virtualHosts: readonly Uint8Array[]): Uint8Array {
  const base = encode(RouteConfigurationSchema, {
    name: names.inboundRoutes(port),
    vhostHeader: SERVICE_HEADER,
    requestHeadersToRemove: [SERVICE_HEADER],
  })
  return appendTo(RouteConfigurationSchema, base, 'virtualHosts', virtualHosts)
}

function limitedRoute(id: string, { match, rateLimits }: RouteLimits): RouteInit {
  return { ...localRoute(id, match), typedPerFilterConfig: limitConfig(rateLimits.http) }
}

/** No timeout: how long a request may take is for the calling side to say. */
function localRoute(id: string, match: RouteMatch): RouteInit {
  return {
    match: routeMatch(match),
    action: {
      case: 'route',
      value: { clusterSpecifier: { case: 'cluster', value: names.localCluster(id) }, timeout: duration(0) },
    },
  }
}

function limitConfig(limit: HttpLocalRateLimit | undefined): { readonly [filter: string]: Any } {
  return limit === undefined ? {} : { [HTTP_LOCAL_RATE_LIMIT]: limitedHttpRequests(limit) }
}
