import { type IngressPart, namedHeaders, type PrincipalsPart } from '@osm-ts/driver-api/policy'
import { VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { encode } from '../encoding/encode.js'
import { requestDescriptors } from '../limits/global-rate-limits.js'
import { names } from '../encoding/names.js'
import { allowRules } from '../access/rbac.js'
import { type KeptByPorts, servedConfig, servedRoutes } from '../inbound/served-routes.js'

/**
 * The virtual host of a port for callers from outside the mesh.
 *
 * @param callers - with mTLS, the names that client certificates must hold
 * @param kept - what of requests is neither removed nor refused
 */
export function ingressVirtualHost(
  part: IngressPart,
  callers: PrincipalsPart | undefined,
  { keepsOtherSpellings, keepsEscapedSlashes }: KeptByPorts,
): Uint8Array {
  const matches = [...part.matches, ...part.routeLimits.map(({ match }) => match)]
  const rules = part.matches.map((match) => ({ match, allow: callers ?? ('anyone' as const) }))
  return encode(VirtualHostSchema, {
    name: names.ingressVirtualHost(part.id),
    // Not a host name: the chain says which part its requests are under, see SERVICE_HEADER.
    domains: [part.id],
    routes: servedRoutes(part, part.routeLimits, keepsEscapedSlashes),
    rateLimits: requestDescriptors(part.rateLimits?.globalHttp?.descriptors),
    typedPerFilterConfig: servedConfig(
      allowRules(rules, { kind: 'name' }, keepsEscapedSlashes),
      part.rateLimits?.http,
      keepsOtherSpellings ? [] : namedHeaders(matches),
    ),
  })
}
