import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'

import { encodeMessage } from '../../resources/encode-message.js'
import { encodedResource } from '../../resources/encoded-resource.js'
import type { EncodedResource } from '../../resources/types.js'

/**
 * A route configuration without virtual hosts: every request is answered 404.
 *
 * A listener waits for its routes without limit. If they do not exist, an answer that says so would leave it waiting, because Envoy ignores the
 * removal of routes.
 */
export function emptyRoutes(name: string): EncodedResource {
  return encodedResource(name, encodeMessage(RouteConfigurationSchema, { name }), [])
}

/** A cluster without endpoints, for the variant that has no way to say that there are none. */
export function emptyEndpoints(name: string): EncodedResource {
  return encodedResource(name, encodeMessage(ClusterLoadAssignmentSchema, { clusterName: name }), [])
}
