import { processError } from '../wire/failure.js'

/**
 * A value that a driver sent.
 *
 * @throws OsmError with code `OSM_DRIVER_PROTOCOL`
 */
export function parseDocument(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw processError('OSM_DRIVER_PROTOCOL', `the driver sent no JSON: ${String(cause)}`)
  }
}
