import type { JsonValue } from '@osm-ts/driver-api'

/** What `sidecarDrivers[].config` may say of Envoy. */
export interface EnvoyConfig {
  /** Variant of xDS: incremental, or the whole state each time. */
  readonly xds: 'delta' | 'sotw'
  /** Worker threads. Absent: 1 in explicit mode, where many proxies share a machine, else 2. */
  readonly concurrency?: number
  /**
   * Seconds after which connections of a changed or removed port are closed. The mesh's `withdrawalTimeout` must be longer, by the second that Envoy takes
   * to close an upgraded stream and by what the change takes to get there.
   */
  readonly drainSeconds: number
}

const DEFAULTS: EnvoyConfig = { xds: 'delta', drainSeconds: 10 }

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
      default: DEFAULTS.drainSeconds,
      description: 'Seconds after which connections of a changed or removed port are closed.',
    },
  },
} as const satisfies { readonly [key: string]: JsonValue }

/** Reads a configuration that the host has checked against {@link configSchema}; what is absent has its default. */
export function envoyConfig(value: JsonValue): EnvoyConfig {
  // The host has checked the shape; null stands for a class without configuration.
  return { ...DEFAULTS, ...(value as Partial<EnvoyConfig> | null) }
}
