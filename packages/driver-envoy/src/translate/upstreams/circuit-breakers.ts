import type { ConnectionLimits } from '@osm-ts/driver-api/policy'
import type { CircuitBreakersSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/circuit_breaker_pb.js'

import type { Init } from '../encoding/encode.js'

/** Envoy's own default of 1,024 would be a limit that no one requested. */
const UNLIMITED = 0xffff_ffff

/** Upper bounds of a cluster; absent ones do not limit. */
export function circuitBreakers(limits: ConnectionLimits = {}): Init<typeof CircuitBreakersSchema> {
  return {
    thresholds: [
      {
        maxConnections: limits.maxConnections ?? UNLIMITED,
        maxPendingRequests: limits.maxPendingRequests ?? UNLIMITED,
        maxRequests: limits.maxRequests ?? UNLIMITED,
        maxRetries: limits.maxRetries ?? UNLIMITED,
      },
    ],
  }
}
