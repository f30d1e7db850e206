import { type Driver, type JsonValue, OsmError } from '@osm-ts/driver-api'
import { Ajv2020 } from 'ajv/dist/2020.js'

/**
 * Refuses a `sidecarDrivers[].config` that does not fit the driver's own schema. Nothing written stands for an empty object.
 *
 * @throws OsmError `OSM_DRIVER_CONFIG`, naming the fields
 */
export function checkDriverConfig(driver: Pick<Driver, 'name' | 'configSchema'>, config: JsonValue | undefined): void {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  const validate = ajv.compile(driver.configSchema)
  if (validate(config ?? {})) return
  const reasons = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const extra = (params as { readonly additionalProperty?: string }).additionalProperty
    return `config${instancePath.replaceAll('/', '.')} ${message ?? 'does not fit'}${extra === undefined ? '' : `: ${extra}`}`
  })
  throw new OsmError(
    'OSM_DRIVER_CONFIG',
    `the configuration of driver ${driver.name} is not accepted: ${reasons.join('; ')}`,
    {
      details: { driver: driver.name, reasons },
    },
  )
}
