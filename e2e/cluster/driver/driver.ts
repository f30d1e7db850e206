import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

/** A driver as somebody else would publish it: Envoy's, as a class of another name. */
export function createDriver(): Driver {
  const { contract, capabilities, configSchema, patch, start } = createEnvoyDriver()
  return { name: 'acme', contract, capabilities, configSchema, patch, start }
}
