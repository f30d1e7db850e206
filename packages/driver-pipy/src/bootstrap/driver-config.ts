import type { JsonValue } from '@osm-ts/driver-api/policy'

/** JSON Schema of `sidecarDrivers[].config` for class pipy. */
export const configSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {},
} as const satisfies { readonly [key: string]: JsonValue }
