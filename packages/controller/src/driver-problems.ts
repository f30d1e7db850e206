import {
  allowedClasses,
  type DriverState,
  isOlderProxy,
  type MeshConfig,
  type Problem,
  sidecarImage,
} from '@osm-ts/core'
import { driverKey } from '@osm-ts/driver-api'

import type { ControllerErrorCode } from './errors.js'

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

/**
 * What is wrong with the drivers of the classes that the MeshConfig allows, and with the images of their sidecars, each at the field that names the class or image.
 */
export function driverProblems(config: MeshConfig, drivers: readonly DriverState[]): readonly Problem[] {
  return allowedClasses(config).flatMap((name): readonly Problem[] => {
    // The driver that serves a class comes before others that wanted to.
    const found = drivers.find((driver) => driverKey(driver.name) === driverKey(name))
    if (found === undefined) return []
    return [...troubleOf(name, found, entryOf(name, config)), ...oldImage(name, config, found.oldestProxyVersion)]
  })
}

/** The field with the settings of a class; undefined if there is none. */
function entryOf(name: string, config: MeshConfig): string | undefined {
  const index = config.sidecar.drivers.findIndex((driver) => driver.name === name)
  return index === -1 ? undefined : `spec.sidecar.sidecarDrivers[${index}]`
}

function troubleOf(name: string, found: DriverState, entry: string | undefined): readonly Problem[] {
  const trouble = troubles[found.state]
  if (trouble === undefined) return []
  const { code, message } = found.reason ?? unknownReason
  const field = entry === undefined ? 'spec.sidecar.sidecarClass' : `${entry}.sidecarName`
  return [{ code, severity: 'error', message: `the driver of class ${name} ${trouble}: ${message}`, field }]
}

/** The image of a class, if it is older than its driver can use. */
export function oldImage(name: string, config: MeshConfig, oldest: string | undefined): readonly Problem[] {
  // What comes from the environment is of the chart, which brings images that fit.
  const image = sidecarImage(config, name, 'linux', {})
  if (!isOlderProxy(image, oldest)) return []
  const entry = entryOf(name, config)
  const isOfEntry =
    entry !== undefined && config.sidecar.drivers.some((each) => each.name === name && each.sidecarImage === image)
  const message = `${JSON.stringify(image)} is too old: class ${name} needs version ${oldest ?? ''} or newer of its proxy; its pods are refused`
  const field = isOfEntry ? `${entry}.sidecarImage` : 'spec.sidecar.sidecarImage'
  return [{ code: 'OSM_CONTROLLER_IMAGE' satisfies ControllerErrorCode, severity: 'error', message, field }]
}
