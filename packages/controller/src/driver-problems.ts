import { allowedClasses, type DriverState, type MeshConfig, type Problem } from '@osm-ts/core'
import { driverKey } from '@osm-ts/driver-api'

/** What is wrong with a driver, by its state. What is only on its way, or not asked for, is no problem. */
const troubles: Readonly<Partial<Record<DriverState['state'], string>>> = {
  refused: 'is refused',
  loading: 'is not there yet',
  'circuit-open': 'has failed, and is started again',
  'not-started': 'does not start, and is tried again',
  ended: 'has ended itself',
}

/** Of a process that is started again and has not said why. */
const unknownReason = { code: 'OSM_DRIVER_UNAVAILABLE', message: 'its process does not run' }

/** What is wrong with the drivers of the classes that the MeshConfig allows, each at the field that names the class. */
export function driverProblems(config: MeshConfig, drivers: readonly DriverState[]): readonly Problem[] {
  return allowedClasses(config).flatMap((name): readonly Problem[] => {
    // The driver that serves a class comes before others that wanted to.
    const found = drivers.find((driver) => driverKey(driver.name) === driverKey(name))
    const trouble = found === undefined ? undefined : troubles[found.state]
    if (found === undefined || trouble === undefined) return []
    const { code, message } = found.reason ?? unknownReason
    const index = config.sidecar.drivers.findIndex((driver) => driver.name === name)
    const field = index === -1 ? 'spec.sidecar.sidecarClass' : `spec.sidecar.sidecarDrivers[${index}].sidecarName`
    return [{ code, severity: 'error', message: `the driver of class ${name} ${trouble}: ${message}`, field }]
  })
}
