import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { OsmError } from '@osm-ts/driver-api'

import { processError } from '../wire/failure.js'
import { isRecord } from '../wire/telemetry.js'

/** What a host reads in the package.json of a driver package. */
export interface PackageManifest {
  readonly name: string
  readonly version: string
  /**
   * `osmDriver.command` of a driver in another language: a program on the PATH, or one of the package as `./…`, and its arguments. It is started in the folder of the package
   * with the path of a unix socket as one more argument, on which it serves `osm.driver.v1.Driver`. Absent: the main module exports the driver.
   */
  readonly command?: readonly [string, ...string[]]
}

/** @throws OsmError with code `OSM_DRIVER_LOAD`, naming the file and the member */
export async function readPackageManifest(folder: string): Promise<PackageManifest> {
  const file = join(folder, 'package.json')
  let manifest: unknown
  try {
    manifest = JSON.parse(await readFile(file, 'utf8'))
  } catch (cause) {
    throw manifestError(file, `can not be read: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (!isRecord(manifest) || typeof manifest['name'] !== 'string' || typeof manifest['version'] !== 'string')
    throw manifestError(file, 'must have a name and a version')
  const { name, version, osmDriver } = manifest
  if (osmDriver === undefined) return { name, version }
  const command = isRecord(osmDriver) ? osmDriver['command'] : undefined
  if (!isCommand(command))
    throw manifestError(file, 'must have a program and its arguments in osmDriver.command: a list of strings')
  return { name, version, command }
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
