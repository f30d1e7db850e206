import type { IngressPart, PrincipalsPart } from '@osm-ts/driver-api'
import { VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { encode } from './encode.js'
import { requestDescriptors } from './global-rate-limits.js'
import { names } from './names.js'
import { allowRules } from './rbac.js'
import { servedConfig, servedRoutes } from './served-routes.js'

/**
 * The virtual host of a port for callers from outside the mesh.
 *
 * @param callers - with mTLS, the names that client certificates must hold
 */
export function ingressVirtualHost(part: IngressPart, callers: PrincipalsPart | undefined): Uint8Array {
  const rules = part.matches.map((match) => ({ match, allow: callers ?? ('anyone' as const) }))
  return encode(VirtualHostSchema, {
    name: names.ingressVirtualHost(part.id),
    // Not a host name: the chain says which part its requests are under, see SERVICE_HEADER.
    domains: [part.id],
    routes: servedRoutes(part.id, part.routeLimits),
    rateLimits: requestDescriptors(part.rateLimits?.globalHttp?.descriptors),
    typedPerFilterConfig: servedConfig(allowRules(rules, { kind: 'name' }), part.rateLimits?.http),
  })
}
