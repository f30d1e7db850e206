import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { checkDriver, CONTRACT_VERSION, type Driver, OsmError, speaksContract } from '@osm-ts/driver-api'

import { readPackageManifest } from '../load/package-manifest.js'
import { processError } from '../wire/failure.js'
import { isRecord } from '../wire/telemetry.js'
import type { ServedDriver } from './serve-driver.js'

/**
 * Imports the driver of a package folder: the default export of its main module, or what that function returns.
 *
 * @throws OsmError with code `OSM_DRIVER_LOAD`, with everything that does not fit the contract, or `OSM_DRIVER_CONTRACT`
 */
export async function importDriver(folder: string): Promise<ServedDriver> {
  const { name, version } = await readPackageManifest(folder)
  let exported: unknown
  try {
    // `main` of its package.json, or index.js.
    const main = createRequire(join(folder, 'index.js')).resolve(folder)
    const module = (await import(pathToFileURL(main).href)) as Readonly<Record<string, unknown>> // a module's exports
    exported = module['default']
    if (typeof exported === 'function') exported = await (exported as () => unknown)()
  } catch (cause) {
    throw processError('OSM_DRIVER_LOAD', `driver package ${name} can not be loaded: ${reasonOf(cause)}`)
  }
  refuseContract(name, exported)
  const issues = checkDriver(exported)
  if (exported === undefined || exported === null)
    throw processError(
      'OSM_DRIVER_LOAD',
      `driver package ${name} has no default export; it must be a driver, or a function that returns one`,
    )
  if (issues.length > 0) {
    const reasons = issues.map(({ pointer, message }) => `${pointer === '' ? 'the driver' : pointer} ${message}`)
    throw processError('OSM_DRIVER_LOAD', `driver package ${name} does not fit the contract: ${reasons.join('; ')}`, {
      reasons,
    })
  }
  return { driver: exported as Driver, version } // checkDriver had nothing to say
}

/** Said before anything else: what another version of the contract wants to have is not known here. */
function refuseContract(name: string, exported: unknown): void {
  const contract = isRecord(exported) ? exported['contract'] : undefined
  if (typeof contract !== 'number' || speaksContract(contract)) return
  throw new OsmError(
    'OSM_DRIVER_CONTRACT',
    `driver package ${name} was written for contract version ${contract}; this host speaks version ${CONTRACT_VERSION}`,
    { details: { package: name, contract, supported: CONTRACT_VERSION } },
  )
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
