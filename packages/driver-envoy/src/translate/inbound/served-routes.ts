import type { Any } from '@bufbuild/protobuf/wkt'
import {
  type HttpLocalRateLimit,
  type HttpRateLimitDescriptor,
  type InboundPart,
  otherSpellings,
  type RouteLimits,
  type RouteMatch,
} from '@osm-ts/driver-api/policy'
import type { RBACSchema } from '@osm-ts/envoy-api/envoy/config/rbac/v3/rbac_pb.js'
import type { RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RBACPerRouteSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'

import { duration, type Init, pack } from '../encoding/encode.js'
import { HTTP_HEADER_MUTATION, HTTP_LOCAL_RATE_LIMIT, HTTP_RBAC } from '../routing/filter-order.js'
import { requestDescriptors } from '../limits/global-rate-limits.js'
import { removalsOfVirtualHost } from '../routing/header-removal.js'
import { routeMatch } from '../routing/matching.js'
import { names } from '../encoding/names.js'
import { pathRuleRoutes } from '../routing/path-rule.js'
import { routesThatRepeat } from '../routing/repeated-requests.js'
import { limitedHttpRequests } from '../limits/rate-limits.js'

type RouteInit = Init<typeof RouteSchema>

/** The served port that routes lead to. */
type ServedPort = Pick<InboundPart, 'id' | 'protocol'>

/** What served ports do not take out of requests, or refuse. */
export interface KeptByPorts {
  /** True: other spellings of headers that rules name are not removed. */
  readonly keepsOtherSpellings: boolean
  /** True: paths with escaped slashes are not refused. */
  readonly keepsEscapedSlashes: boolean
}

/** Routes of a served port: the path rule of the mesh, then requests with limits of their own, then all others. */
export function servedRoutes(
  port: ServedPort,
  routeLimits: readonly RouteLimits[],
  keepsEscapedSlashes: boolean,
): RouteInit[] {
  return [
    ...pathRuleRoutes(keepsEscapedSlashes),
    ...routeLimits.flatMap(({ match, rateLimits }) =>
      localRoutes(port, match, rateLimits.globalHttpDescriptors, limitConfig(rateLimits.http)),
    ),
    ...localRoutes(port, {}),
  ]
}

/**
 * What filters do with requests of a virtual host: who may ask, and how often.
 *
 * @param namedHeaders - headers of which other spellings are removed
 */
export function servedConfig(
  rules: Init<typeof RBACSchema>,
  limit: HttpLocalRateLimit | undefined,
  namedHeaders: readonly string[],
): { readonly [filter: string]: Any } {
  const removed = otherSpellings(namedHeaders)
  return {
    ...limitConfig(limit),
    ...(removed.length === 0 ? {} : { [HTTP_HEADER_MUTATION]: removalsOfVirtualHost(removed) }),
    [HTTP_RBAC]: pack(RBACPerRouteSchema, { rbac: { rules } }),
  }
}

/** No timeout: how long a request may take is for the calling side to say. */
function localRoutes(
  { id, protocol }: ServedPort,
  match: RouteMatch,
  descriptors: readonly HttpRateLimitDescriptor[] = [],
  typedPerFilterConfig: { readonly [filter: string]: Any } = {},
): RouteInit[] {
  const action = {
    clusterSpecifier: { case: 'cluster' as const, value: names.localCluster(id) },
    timeout: duration(0),
    rateLimits: requestDescriptors(descriptors),
  }
  return routesThatRepeat({ match: routeMatch(match), action, typedPerFilterConfig }, protocol)
}

function limitConfig(limit: HttpLocalRateLimit | undefined): { readonly [filter: string]: Any } {
  return limit === undefined ? {} : { [HTTP_LOCAL_RATE_LIMIT]: limitedHttpRequests(limit) }
}
