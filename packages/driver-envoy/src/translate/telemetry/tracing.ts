import type { MeshPart, Tracing } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { OpenTelemetryConfigSchema } from '@osm-ts/envoy-api/envoy/config/trace/v3/opentelemetry_pb.js'
import {
  ZipkinConfig_CollectorEndpointVersion as EndpointVersion,
  ZipkinConfigSchema,
} from '@osm-ts/envoy-api/envoy/config/trace/v3/zipkin_pb.js'
import type { HttpConnectionManager_TracingSchema as TracingSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { ParentBasedSamplerConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/parent_based_sampler_pb.js'
import { TraceIdRatioBasedSamplerConfigSchema } from '@osm-ts/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/trace_id_ratio_based_sampler_pb.js'
import { FractionalPercent_DenominatorType } from '@osm-ts/envoy-api/envoy/type/v3/percent_pb.js'

import { authority } from '../encoding/address.js'
import { hostCluster } from '../upstreams/cluster.js'
import { duration, encode, type Init, pack } from '../encoding/encode.js'
import { names } from '../encoding/names.js'
import type { MeshSettings } from '../settings.js'

type ProviderInit = NonNullable<Init<typeof TracingSchema>['provider']>

/** Longest time that a collector may take to accept spans. */
const EXPORT_TIMEOUT_MS = 5_000
const MILLION = 1_000_000

/** Spans of requests, where they are wanted. */
export function requestTracing(mesh: MeshSettings): { readonly tracing?: Init<typeof TracingSchema> } {
  const { tracing } = mesh
  if (tracing === undefined) return {}
  return {
    tracing:
      tracing.provider === 'zipkin'
        ? { randomSampling: { value: tracing.sampledFraction * 100 }, provider: zipkin(tracing) }
        : // Every request reaches the sampler, which knows whether the caller has decided.
          { randomSampling: { value: 100 }, provider: openTelemetry(tracing, mesh.serviceName) },
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
        sampler: parentBased(tracing.sampledFraction),
      }),
    },
  }
}

/** A trace that the caller has begun goes on as it decided; a share of the others is kept, chosen by trace ID. */
function parentBased(fraction: number): NonNullable<Init<typeof OpenTelemetryConfigSchema>['sampler']> {
  const samplingPercentage = {
    numerator: Math.round(fraction * MILLION),
    denominator: FractionalPercent_DenominatorType.MILLION,
  }
  return {
    name: 'envoy.tracers.opentelemetry.samplers.parent_based',
    typedConfig: pack(ParentBasedSamplerConfigSchema, {
      wrappedSampler: {
        name: 'envoy.tracers.opentelemetry.samplers.trace_id_ratio_based',
        typedConfig: pack(TraceIdRatioBasedSamplerConfigSchema, { samplingPercentage }),
      },
    }),
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
