import type { Any } from '@bufbuild/protobuf/wkt'
import type { ExternalAuthorization } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ApiVersion } from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'
import { ExtAuthzSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { StatusCode } from '@osm-ts/envoy-api/envoy/type/v3/http_status_pb.js'

import { authority } from '../encoding/address.js'
import { circuitBreakers } from '../upstreams/circuit-breakers.js'
import { hostCluster } from '../upstreams/cluster.js'
import { duration, encode, pack } from '../encoding/encode.js'
import { httpProtocolOptions } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import { DEFAULT_HTTP_LIMITS, type Settings } from '../settings.js'

/** Asks a service about every request that the rules allow. */
export function externalAuthorizationFilter(authorization: ExternalAuthorization): Any {
  return pack(ExtAuthzSchema, {
    services: {
      case: 'grpcService',
      value: {
        targetSpecifier: {
          case: 'envoyGrpc',
          value: {
            clusterName: names.externalAuthorizationCluster(authorization),
            // Envoy would give the name of the cluster, which is not a valid authority: servers reset the stream for it.
            authority: authority(authorization),
          },
        },
        timeout: duration(authorization.timeoutMs),
      },
    },
    transportApiVersion: ApiVersion.V3,
    failureModeAllow: authorization.failureModeAllow,
    statusOnError: { code: StatusCode.Forbidden },
    statPrefix: authorization.statPrefix,
  })
}

/** The cluster of such a service. */
export function externalAuthorizationCluster(authorization: ExternalAuthorization, { mesh }: Settings): Uint8Array {
  const { host, port } = authorization
  return encode(ClusterSchema, {
    ...hostCluster(names.externalAuthorizationCluster(authorization), host, port),
    connectTimeout: duration(mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: httpProtocolOptions('grpc', DEFAULT_HTTP_LIMITS),
  })
}
