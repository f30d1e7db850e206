import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { checkDriver, type Driver } from '@osm-ts/driver-api'
import { isContractRange, requireContract } from '@osm-ts/driver-api/host'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { readPackageManifest } from '../load/package-manifest.js'
import { processError } from '../wire/failure.js'
import type { ServedDriver } from './serve-driver.js'

/**
 * Imports the driver of a package folder: what {@link exportedDriver} finds in its main module.
 *
 * @throws OsmError with code `OSM_DRIVER_LOAD`, with everything that does not fit the contract, or `OSM_DRIVER_CONTRACT`
 */
export async function importDriver(folder: string): Promise<ServedDriver> {
  const { name, version, main } = await readPackageManifest(folder)
  let exported: unknown
  try {
    const module = (await import(pathToFileURL(resolve(folder, main)).href)) as Readonly<Record<string, unknown>> // a module's exports
    exported = await exportedDriver(module)
  } catch (cause) {
    throw processError('OSM_DRIVER_LOAD', `driver package ${name} cannot be loaded: ${reasonOf(cause)}`)
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

/**
 * The driver that a module exports: by default, or else the one under a name such as `createDriver`; a function is called without arguments. Undefined if it exports none.
 * Whether it fits the contract `checkDriver` says.
 */
export async function exportedDriver(module: Readonly<Record<string, unknown>>): Promise<unknown> {
  const made = Object.keys(module).filter((name) => /^create\w*Driver$/.test(name))
  const [only] = made
  const found = module['default'] ?? (made.length === 1 && only !== undefined ? module[only] : undefined)
  return typeof found === 'function' ? await (found as () => unknown)() : found
}

/** Said before anything else: what another version of the contract wants to have is not known here. */
function refuseContract(name: string, exported: unknown): void {
  const contract = isRecord(exported) ? exported['contract'] : undefined
  if (isContractRange(contract)) requireContract({ name, contract })
}

function reasonOf(cause: unknown): string {
  return errorMessage(cause)
}
