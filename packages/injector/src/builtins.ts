import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'

/** The sidecar classes that come with this program. */
export function builtInDrivers(): readonly Driver[] {
  return [createEnvoyDriver(), createPipyDriver()]
}
