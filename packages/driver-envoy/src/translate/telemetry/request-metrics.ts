import type { JsonObject } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import type { AccessLogSchema } from '@osm-ts/envoy-api/envoy/config/accesslog/v3/accesslog_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  Config_Histogram_Unit as Unit,
  ConfigSchema as StatsSchema,
} from '@osm-ts/envoy-api/envoy/extensions/access_loggers/stats/v3/stats_pb.js'
import { HeaderMutationSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js'
import {
  Config_ValueType as ValueType,
  ConfigSchema as HeaderToMetadataSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_to_metadata/v3/header_to_metadata_pb.js'

import { type Init, pack } from '../encoding/encode.js'
import type { ReplicaPolicy } from '../policy-reader.js'

/*
 * Metrics of requests, counted by the calling proxy. What names the own workload is in the metadata of listeners, so that filter chains stay the same
 * for all proxies; what names the other side comes as headers of its answer, which go no further than the calling proxy.
 */

/** What names a workload. */
const WORKLOAD = ['namespace', 'kind', 'name', 'pod'] as const

/** Where metadata stands: of listeners about the own workload, of requests about the one that answered. */
const METADATA = 'osm.workload'

const header = (label: string): string => `osm-stats-${label}`

/** What names the proxy's workload, as metadata of its listeners; undefined without metrics of requests. */
export function workloadMetadata({ namespace, workload }: ReplicaPolicy): JsonObject | undefined {
  if (workload === undefined) return undefined
  return { [METADATA]: { namespace, kind: workload.kind, name: workload.name, pod: workload.instance } }
}

/** Names the own workload in every answer to a caller of the mesh. */
export function answeringWorkload(): Any {
  return pack(HeaderMutationSchema, {
    mutations: {
      responseMutations: WORKLOAD.map((label) => ({
        action: {
          case: 'append' as const,
          value: {
            header: { key: header(label), value: `%METADATA(LISTENER:${METADATA}:${label})%` },
            appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
          },
        },
      })),
    },
  })
}

/** Takes the name of the workload that answered out of the answer. */
export function answeredWorkload(): Any {
  const value = { metadataNamespace: METADATA, type: ValueType.STRING }
  return pack(HeaderToMetadataSchema, {
    responseRules: WORKLOAD.map((label) => ({
      header: header(label),
      onHeaderPresent: { ...value, key: label },
      onHeaderMissing: { ...value, key: label, value: 'unknown' },
      remove: true,
    })),
  })
}

/** Counts requests and measures how long they take, by the workloads of both sides. */
export function requestMetricsLog(): Init<typeof AccessLogSchema> {
  const tags = [
    ...WORKLOAD.map((label) => ({ name: `source_${label}`, valueFormat: `%METADATA(LISTENER:${METADATA}:${label})%` })),
    ...WORKLOAD.map((label) => ({
      name: `destination_${label}`,
      valueFormat: `%DYNAMIC_METADATA(${METADATA}:${label})%`,
    })),
  ]
  return {
    name: 'envoy.access_loggers.stats',
    configType: {
      case: 'typedConfig',
      value: pack(StatsSchema, {
        statPrefix: 'osm',
        counters: [
          {
            stat: { name: 'request_total', tags: [...tags, { name: 'response_code', valueFormat: '%RESPONSE_CODE%' }] },
            valueFixed: 1n,
          },
        ],
        histograms: [
          { stat: { name: 'request_duration_ms', tags }, unit: Unit.Milliseconds, valueFormat: '%DURATION%' },
        ],
      }),
    },
  }
}
