import type { JsonValue } from '@osm-ts/driver-api/policy'

import { DEFAULT_HTTP_LIMITS, type HttpLimits } from '../translate/settings.js'

/** What `sidecarDrivers[].config` may say of Envoy. */
export interface EnvoyConfig {
  /** Variant of xDS: incremental, or the whole state each time. */
  readonly xds: 'delta' | 'sotw'
  /** Worker threads. Absent: 1 in explicit mode, where many proxies share a machine, else 2. */
  readonly concurrency?: number
  /** Seconds after which connections of a changed or removed port are closed. Absent: what the mesh's withdrawal timeout leaves time for. */
  readonly drainSeconds?: number
  /** Seconds after which a sidecar is asked to connect again, so that it may come to another replica; grpc-js spreads them by ±10%. */
  readonly connectionAgeSeconds: number
  /** Seconds from then until the connection is closed, whether the sidecar has gone or not. */
  readonly connectionGraceSeconds: number
  /** Seconds of silence after which a sidecar is asked whether it is there. */
  readonly keepaliveSeconds: number
  /** Size of all request headers together, in kibibytes. */
  readonly maxRequestHeadersKiB: number
  /** Number of headers of a request or an answer. */
  readonly maxHeaders: number
  /** Requests under way on one HTTP/2 connection of a caller. */
  readonly maxConcurrentStreams: number
}

const DEFAULTS: EnvoyConfig = {
  xds: 'delta',
  connectionAgeSeconds: 1_800,
  connectionGraceSeconds: 60,
  keepaliveSeconds: 30,
  maxRequestHeadersKiB: DEFAULT_HTTP_LIMITS.requestHeadersKiB,
  maxHeaders: DEFAULT_HTTP_LIMITS.headers,
  maxConcurrentStreams: DEFAULT_HTTP_LIMITS.concurrentStreams,
}

/** Long enough for ordinary requests to end by themselves. */
const LONGEST_DEFAULT_DRAIN_SECONDS = 10
/** What a change takes to get to Envoy, and the second that Envoy takes to close an upgraded stream once it is drained. */
const WITHDRAWAL_MARGIN_SECONDS = 2

/**
 * Seconds after which connections of a changed or removed port are closed.
 *
 * @param withdrawalTimeoutMs - milliseconds that an open connection may outlive the rule that allowed it
 */
export function drainSeconds(config: EnvoyConfig, withdrawalTimeoutMs: number): number {
  if (config.drainSeconds !== undefined) return config.drainSeconds
  const longest = Math.floor(withdrawalTimeoutMs / 1000) - WITHDRAWAL_MARGIN_SECONDS
  return Math.max(1, Math.min(LONGEST_DEFAULT_DRAIN_SECONDS, longest))
}

/** The longest time for which a sidecar of this configuration drains connections. */
export function longestDrainSeconds({ drainSeconds: chosen }: EnvoyConfig): number {
  return chosen ?? LONGEST_DEFAULT_DRAIN_SECONDS
}

/** JSON Schema of {@link EnvoyConfig}. */
export const configSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {
    xds: {
      enum: ['delta', 'sotw'],
      default: DEFAULTS.xds,
      description: 'Variant of xDS: delta sends what changed, sotw the whole state each time.',
    },
    concurrency: {
      type: 'integer',
      minimum: 1,
      maximum: 128,
      description: 'Worker threads of each sidecar. Default: 1 in explicit mode, else 2.',
    },
    drainSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: 600,
      description:
        'Seconds after which connections of a changed or removed port are closed. Default: 10, or less where the withdrawal timeout of the mesh is short.',
    },
    connectionAgeSeconds: {
      type: 'integer',
      minimum: 1,
      // Timers of Node.js go no further than 24 days; a day spreads sidecars over replicas as well as any more.
      maximum: 86_400,
      default: DEFAULTS.connectionAgeSeconds,
      description:
        'Seconds, 10 % more or less, after which a sidecar is asked to connect again: that spreads sidecars over the replicas of the controller.',
    },
    connectionGraceSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: 3_600,
      default: DEFAULTS.connectionGraceSeconds,
      description: 'Seconds that such a connection goes on, if the sidecar does not end it before.',
    },
    keepaliveSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: 3_600,
      default: DEFAULTS.keepaliveSeconds,
      description:
        'Seconds of silence after which a sidecar is asked whether it is there; without an answer within 10 s it is taken for gone.',
    },
    maxRequestHeadersKiB: {
      type: 'integer',
      minimum: 8,
      // The most that Envoy takes.
      maximum: 8_192,
      default: DEFAULTS.maxRequestHeadersKiB,
      description: 'Size of all headers of a request together, in KiB. A larger request is answered 431.',
    },
    maxHeaders: {
      type: 'integer',
      minimum: 20,
      maximum: 10_000,
      default: DEFAULTS.maxHeaders,
      description:
        'Number of headers of a request, or of an answer. A request with more is answered 431, an answer with more becomes 502.',
    },
    maxConcurrentStreams: {
      type: 'integer',
      minimum: 1,
      maximum: 2_147_483_647,
      default: DEFAULTS.maxConcurrentStreams,
      description:
        'Requests under way on one HTTP/2 connection to a served port. Further ones wait, or take another connection.',
    },
  },
} as const satisfies { readonly [key: string]: JsonValue }

/** What of a configuration decides about HTTP. */
export function httpLimits({ maxRequestHeadersKiB, maxHeaders, maxConcurrentStreams }: EnvoyConfig): HttpLimits {
  return { requestHeadersKiB: maxRequestHeadersKiB, headers: maxHeaders, concurrentStreams: maxConcurrentStreams }
}

/** Reads a configuration that the host has checked against {@link configSchema}; what is absent has its default. */
export function envoyConfig(value: JsonValue): EnvoyConfig {
  // The host has checked the shape; null stands for a class without configuration.
  return { ...DEFAULTS, ...(value as Partial<EnvoyConfig> | null) }
}
