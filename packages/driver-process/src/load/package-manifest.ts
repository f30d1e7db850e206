import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { OsmError } from '@osm-ts/driver-api'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { processError } from '../wire/failure.js'

/** What a host reads in the package.json of a driver package. */
export interface PackageManifest {
  readonly name: string
  readonly version: string
  /** The main module, below the folder: by `exports` as an import of the package would find it, else by `main`, else `index.js`. */
  readonly main: string
  /**
   * `osmDriver.command` of a driver in another language: a program on the PATH, or one of the package as `./…`, and its arguments. It is started in the folder of the package
   * with the path of a unix socket as one more argument, on which it serves `osm.driver.v1.Driver`. Absent: the main module exports the driver.
   */
  readonly command?: readonly [string, ...string[]]
  /** `osmDriver.standIn`: module of the package, below its folder, that speaks for the driver's proxies in tests of conformance. No host reads it. */
  readonly standIn?: string
}

/** @throws OsmError with code `OSM_DRIVER_LOAD`, naming the file and the member */
export async function readPackageManifest(folder: string): Promise<PackageManifest> {
  const file = join(folder, 'package.json')
  let manifest: unknown
  try {
    manifest = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw manifestError(file, `cannot be read: ${errorMessage(cause)}`)
  }
  if (!isRecord(manifest) || typeof manifest['name'] !== 'string' || typeof manifest['version'] !== 'string')
    throw manifestError(file, 'must have a name and a version')
  const { name, version, osmDriver } = manifest
  const main = findEntry(manifest['exports']) ?? (typeof manifest['main'] === 'string' ? manifest['main'] : 'index.js')
  if (osmDriver === undefined) return { name, version, main }
  const { command, standIn } = isRecord(osmDriver) ? osmDriver : {}
  if (standIn !== undefined && typeof standIn !== 'string')
    throw manifestError(file, 'must have the path of a module in osmDriver.standIn, if it has one')
  if (!isCommand(command) && (command !== undefined || standIn === undefined))
    throw manifestError(file, 'must have a program and its arguments in osmDriver.command: a list of strings')
  return { name, version, main, ...(isCommand(command) && { command }), ...(standIn !== undefined && { standIn }) }
}

function findEntry(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports
  if (!isRecord(exports)) return undefined
  if ('.' in exports) return findEntry(exports['.'])
  return ['import', 'node', 'default'].map((name) => findEntry(exports[name])).find((path) => path !== undefined)
}

function isCommand(value: unknown): value is readonly [string, ...string[]] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value[0] !== '' &&
    value.every((word) => typeof word === 'string' && !word.includes('\0'))
  )
}

function manifestError(file: string, what: string): OsmError {
  return processError('OSM_DRIVER_LOAD', `${file} ${what}`)
}
