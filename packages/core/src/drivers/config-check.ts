import { type Driver, OsmError } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** Refuses what a driver's own schema does not describe. */
export type DriverConfigCheck = (config: JsonValue | undefined) => void

/**
 * A check of `sidecarDrivers[].config` by the schema of a driver. Nothing written stands for an empty object.
 *
 * Compiling a schema takes milliseconds, which an injector does not have for every pod: so it is done once, when first wanted.
 *
 * @returns a check that throws OsmError `OSM_DRIVER_CONFIG`, naming the fields
 */
export function driverConfigCheck(driver: Pick<Driver, 'name' | 'configSchema'>): DriverConfigCheck {
  let validate: ReturnType<Ajv2020['compile']> | undefined
  return (config) => {
    validate ??= new Ajv2020({ allErrors: true, strict: false, code: { optimize: false } }).compile(driver.configSchema)
    if (validate(config ?? {})) return
    const reasons = (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const extra = (params as { readonly additionalProperty?: string }).additionalProperty
      return `config${instancePath.replaceAll('/', '.')} ${message ?? 'does not fit'}${extra === undefined ? '' : `: ${extra}`}`
    })
    throw new OsmError(
      'OSM_DRIVER_CONFIG',
      `the configuration of driver ${driver.name} is not accepted: ${reasons.join('; ')}`,
      { details: { driver: driver.name, reasons } },
    )
  }
}
