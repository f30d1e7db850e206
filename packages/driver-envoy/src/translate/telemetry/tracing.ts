import type { MeshPart, Tracing } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { OpenTelemetryConfigSchema } from '@osm-ts/envoy-api/envoy/config/trace/v3/opentelemetry_pb.js'
import {
  ZipkinConfig_CollectorEndpointVersion as EndpointVersion,
  ZipkinConfigSchema,
} from '@osm-ts/envoy-api/envoy/config/trace/v3/zipkin_pb.js'
import type { HttpConnectionManager_TracingSchema as TracingSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { authority } from '../encoding/address.js'
import { hostCluster } from '../upstreams/cluster.js'
import { duration, encode, type Init, pack } from '../encoding/encode.js'
import { names } from '../encoding/names.js'
import type { MeshSettings } from '../settings.js'

type ProviderInit = NonNullable<Init<typeof TracingSchema>['provider']>

/** Longest time that a collector may take to accept spans. */
const EXPORT_TIMEOUT_MS = 5_000

/** Spans of requests, where they are wanted. */
export function requestTracing(mesh: MeshSettings): { readonly tracing?: Init<typeof TracingSchema> } {
  const { tracing } = mesh
  if (tracing === undefined) return {}
  return {
    tracing: {
      randomSampling: { value: tracing.sampledFraction * 100 },
      provider: tracing.provider === 'zipkin' ? zipkin(tracing) : openTelemetry(tracing, mesh.serviceName),
    },
  }
}

function zipkin(tracing: Tracing): ProviderInit {
  return {
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
  }
}

function openTelemetry(tracing: Tracing, serviceName = ''): ProviderInit {
  return {
    name: 'envoy.tracers.opentelemetry',
    configType: {
      case: 'typedConfig',
      value: pack(OpenTelemetryConfigSchema, {
        serviceName,
        httpService: {
          httpUri: {
            uri: `http://${authority(tracing)}${tracing.endpoint}`,
            httpUpstreamType: { case: 'cluster', value: names.tracingCluster },
            timeout: duration(EXPORT_TIMEOUT_MS),
          },
        },
      }),
    },
  }
}

/** The cluster of the collector. */
export function tracingCluster(mesh: MeshPart): Uint8Array | undefined {
  if (mesh.tracing === undefined) return undefined
  const { host, port } = mesh.tracing
  return encode(ClusterSchema, {
    ...hostCluster(names.tracingCluster, host, port),
    connectTimeout: duration(mesh.connectTimeoutMs),
  })
}
