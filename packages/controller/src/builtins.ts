import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

/** The sidecar classes that come with osm-controller. */
export function builtInDrivers(): readonly Driver[] {
  return [createEnvoyDriver()]
}
