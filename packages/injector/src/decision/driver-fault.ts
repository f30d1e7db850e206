import type { DriverRegistry } from '@osm-ts/core'
import { isOsmError, OsmError } from '@osm-ts/driver-api'

/** What a driver in another process has done wrong, as opposed to what it says of a pod. It may be gone in a moment. */
export const DRIVER_FAULTS: ReadonlySet<string> = new Set([
  'OSM_DRIVER_EXITED',
  'OSM_DRIVER_MEMORY',
  'OSM_DRIVER_PROTOCOL',
  'OSM_DRIVER_TIMEOUT',
  'OSM_DRIVER_UNAVAILABLE',
])

/** A driver has not done its part for a pod of its class. */
export class DriverFault extends OsmError {
  readonly sidecarClass: string

  constructor(sidecarClass: string, code: string, message: string) {
    super(code, message, { details: { driver: sidecarClass } })
    this.sidecarClass = sidecarClass
  }
}

/** The fault of a driver that an error is; any other error as it is. */
export function asDriverFault(error: unknown, sidecarClass: string): unknown {
  if (!isOsmError(error) || !DRIVER_FAULTS.has(error.code)) return error
  return new DriverFault(sidecarClass, error.code, error.message)
}

/** True if a pod is admitted without a sidecar after such a fault: anyone who has listed the driver has said so. */
export function isIgnored({ sidecarClass }: DriverFault, registry: DriverRegistry): boolean {
  const { failurePolicy } = registry.facts(sidecarClass) ?? registry.refusal(sidecarClass) ?? {}
  return failurePolicy === 'Ignore'
}
