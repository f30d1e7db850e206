import {
  ApiConfigSource_ApiType as ApiType,
  ApiVersion,
  type ConfigSourceSchema,
} from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'

import { duration, type Init, oneOf } from './encode.js'

/** Cluster of the bootstrap configuration that leads to the SPIFFE Workload API beside the proxy. */
export const WORKLOAD_API_CLUSTER = 'workload-api'

/** Longest time that a cluster waits for material that the control plane may not have any more. */
const SECRET_TIMEOUT_MS = 3_000

/**
 * Whatever one resource needs of others comes over the same stream, and is waited for without limit: serving without it would be plaintext, a 404 or an
 * empty cluster where the policy says otherwise.
 */
export function adsSource(): Init<typeof ConfigSourceSchema> {
  return {
    configSourceSpecifier: oneOf('ads', {}),
    initialFetchTimeout: duration(0),
    resourceApiVersion: ApiVersion.V3,
  }
}

/**
 * For client certificates of Secrets, which may vanish at any time. While a cluster waits, Envoy acknowledges no clusters at all; without its secret it
 * connects to no one, so that going on is safe.
 */
export function vanishingSource(): Init<typeof ConfigSourceSchema> {
  return { ...adsSource(), initialFetchTimeout: duration(SECRET_TIMEOUT_MS) }
}

/**
 * SDS of the agent beside the proxy, which the stream of the control plane has no part in. It is waited for without limit, too: nothing is served or called before. Agents
 * restart, and know some workloads seconds after they have started.
 */
export function workloadApiSource(): Init<typeof ConfigSourceSchema> {
  return {
    configSourceSpecifier: oneOf('apiConfigSource', {
      // SPIRE has no delta variant.
      apiType: ApiType.GRPC,
      transportApiVersion: ApiVersion.V3,
      setNodeOnFirstMessageOnly: true,
      grpcServices: [
        {
          targetSpecifier: oneOf('envoyGrpc', {
            clusterName: WORKLOAD_API_CLUSTER,
            retryPolicy: { retryBackOff: { baseInterval: duration(500), maxInterval: duration(5_000) } },
          }),
        },
      ],
    }),
    initialFetchTimeout: duration(0),
    resourceApiVersion: ApiVersion.V3,
  }
}
