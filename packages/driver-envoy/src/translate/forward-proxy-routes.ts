import { type RouteSchema, VirtualHostSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import { duration, encode, type Init } from './encode.js'
import { routeMatch } from './matching.js'
import { names } from './names.js'

/** Explicit mode: what becomes of requests for hosts that the mesh does not know. */
export function forwardProxyFallback(egressEnabled: boolean): Uint8Array {
  return encode(VirtualHostSchema, {
    name: names.outboundVirtualHost('*'),
    domains: ['*'],
    routes: [{ match: routeMatch({}), action: egressEnabled ? forward : refuse }],
  })
}

const forward: NonNullable<Init<typeof RouteSchema>['action']> = {
  case: 'route',
  value: { clusterSpecifier: { case: 'cluster', value: names.forwardProxyCluster }, timeout: duration(0) },
}

const refuse: NonNullable<Init<typeof RouteSchema>['action']> = {
  case: 'directResponse',
  value: {
    status: 403,
    body: { specifier: { case: 'inlineString', value: 'host is not in the mesh, and egress is off' } },
  },
}
