import type { Any } from '@bufbuild/protobuf/wkt'
import type { HttpLocalRateLimit, HttpRateLimitDescriptor, RouteLimits, RouteMatch } from '@osm-ts/driver-api'
import type { RBACSchema } from '@osm-ts/envoy-api/envoy/config/rbac/v3/rbac_pb.js'
import type { RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { RBACPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'

import { appendTo, duration, encode, type Init, pack } from './encode.js'
import { HTTP_LOCAL_RATE_LIMIT, HTTP_RBAC } from './filter-order.js'
import { requestDescriptors } from './global-rate-limits.js'
import { SERVICE_HEADER } from './http-manager.js'
import { routeMatch } from './matching.js'
import { names } from './names.js'
import { pathRuleRoutes } from './path-rule.js'
import { limitedHttpRequests } from './rate-limits.js'

type RouteInit = Init<typeof RouteSchema>

/** Routes of a served port: the path rule of the mesh, then requests with limits of their own, then all others. */
export function servedRoutes(id: string, routeLimits: readonly RouteLimits[]): RouteInit[] {
  return [
    ...pathRuleRoutes(),
    ...routeLimits.map(({ match, rateLimits }) => ({
      ...localRoute(id, match, rateLimits.globalHttpDescriptors),
      typedPerFilterConfig: limitConfig(rateLimits.http),
    })),
    localRoute(id, {}),
  ]
}

/** What filters do with requests of a virtual host: who may ask, and how often. */
export function servedConfig(
  rules: Init<typeof RBACSchema>,
  limit: HttpLocalRateLimit | undefined,
): { readonly [filter: string]: Any } {
  return { ...limitConfig(limit), [HTTP_RBAC]: pack(RBACPerRouteSchema, { rbac: { rules } }) }
}

/** A route configuration whose virtual hosts are chosen by filter chains, see {@link SERVICE_HEADER}. */
export function servedRouteConfiguration(name: string, virtualHosts: readonly Uint8Array[]): Uint8Array {
  const base = encode(RouteConfigurationSchema, {
    name,
    vhostHeader: SERVICE_HEADER,
    requestHeadersToRemove: [SERVICE_HEADER],
  })
  return appendTo(RouteConfigurationSchema, base, 'virtualHosts', virtualHosts)
}

/** No timeout: how long a request may take is for the calling side to say. */
function localRoute(id: string, match: RouteMatch, descriptors: readonly HttpRateLimitDescriptor[] = []): RouteInit {
  return {
    match: routeMatch(match),
    action: {
      case: 'route',
      value: {
        clusterSpecifier: { case: 'cluster', value: names.localCluster(id) },
        timeout: duration(0),
        rateLimits: requestDescriptors(descriptors),
      },
    },
  }
}

function limitConfig(limit: HttpLocalRateLimit | undefined): { readonly [filter: string]: Any } {
  return limit === undefined ? {} : { [HTTP_LOCAL_RATE_LIMIT]: limitedHttpRequests(limit) }
}
