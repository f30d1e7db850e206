import { type DescMessage, fromBinary, type JsonValue, type Registry, toJson } from '@bufbuild/protobuf'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ClusterLoadAssignmentSchema } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import { RouteConfigurationSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { SecretSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'

import type { EncodedResource, TranslatedType } from './types.js'

/** What can be shown: secrets of callers hold nothing secret, and the others are not among them. */
type ShownType = TranslatedType | 'callers'

/** The message type of each xDS type. */
const resourceSchemas: Readonly<Record<ShownType, DescMessage>> = {
  cluster: ClusterSchema,
  endpoints: ClusterLoadAssignmentSchema,
  listener: ListenerSchema,
  extension: TypedExtensionConfigSchema,
  route: RouteConfigurationSchema,
  callers: SecretSchema,
}

/**
 * A resource as canonical protobuf JSON.
 *
 * @param registry - see `messageRegistry`; made once by anyone who prints more than one resource
 */
export function resourceJson(type: ShownType, resource: EncodedResource, registry: Registry): JsonValue {
  const schema = resourceSchemas[type]
  return toJson(schema, fromBinary(schema, resource.value), { registry })
}
