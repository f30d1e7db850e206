import type { MeshPart } from '@osm-ts/driver-api'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import {
  ZipkinConfig_CollectorEndpointVersion as EndpointVersion,
  ZipkinConfigSchema,
} from '@osm-ts/envoy-api/envoy/config/trace/v3/zipkin_pb.js'
import type { HttpConnectionManager_TracingSchema as TracingSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { hostCluster } from './cluster.js'
import { duration, encode, type Init, pack } from './encode.js'
import { names } from './names.js'

/** Spans of requests, where they are wanted and the provider is Zipkin. */
export function zipkinTracing({ tracing }: MeshPart): { readonly tracing?: Init<typeof TracingSchema> } {
  if (tracing?.provider !== 'zipkin') return {}
  return {
    tracing: {
      randomSampling: { value: tracing.sampledFraction * 100 },
      provider: {
        name: 'envoy.tracers.zipkin',
        configType: {
          case: 'typedConfig',
          value: pack(ZipkinConfigSchema, {
            collectorCluster: names.tracingCluster,
            collectorEndpoint: tracing.endpoint,
            collectorHostname: tracing.host,
            collectorEndpointVersion: EndpointVersion.HTTP_JSON,
          }),
        },
      },
    },
  }
}

/** The cluster of the collector. */
export function tracingCluster(mesh: MeshPart): Uint8Array | undefined {
  if (mesh.tracing?.provider !== 'zipkin') return undefined
  const { host, port } = mesh.tracing
  return encode(ClusterSchema, {
    ...hostCluster(names.tracingCluster, host, port),
    connectTimeout: duration(mesh.connectTimeoutMs),
  })
}
