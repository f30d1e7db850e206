import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import type { Driver } from '@osm-ts/driver-api'
import { exportedDriver, readPackageManifest } from '@osm-ts/driver-process'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { StandIn } from '../conformance/stand-in.js'
import { CommandDriver } from './command-driver.js'

/** A driver and where it came from. */
export interface LoadedDriver {
  readonly driver: Driver
  readonly package: { readonly name: string; readonly version: string }
  /** Absolute path of its package. */
  readonly folder: string
  /** Absolute path of the module that its package names as what speaks for its proxies. */
  readonly standIn?: string
  /** Ends what was started for it. */
  readonly close?: () => Promise<void>
}

/** Where a driver is looked for, and what its process gets if it has one. */
export interface LoadPlace {
  /** Absolute path of the folder that names and relative paths are looked up from. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Why there is no driver to try. */
export class NoDriver extends Error {
  override readonly name = 'NoDriver'
}

interface Manifest {
  readonly name?: string
  readonly version?: string
}

/**
 * Imports the driver of a package: its default export, or else the one that it exports under a name such as `createDriver`; a function is called without arguments.
 * A package that names a command is run by it.
 *
 * @param given - folder of the package, or its name as installed there
 * @throws NoDriver
 */
export async function loadDriver(given: string, { folder: from, environment }: LoadPlace): Promise<LoadedDriver> {
  const folder = folderOf(given, from)
  const path = join(folder, 'package.json')
  if (!existsSync(path))
    throw new NoDriver(`${path} does not exist: --driver takes the folder of a package, or its name`)
  const { name, version, main, command, standIn } = await readPackageManifest(folder).catch(asNoDriver)
  const of = { package: { name, version }, folder, ...(standIn !== undefined && { standIn: resolve(folder, standIn) }) }
  if (command !== undefined) {
    const driver = await CommandDriver.open({ name, command, folder, environment }).catch(asNoDriver)
    return { driver, ...of, close: () => driver.close() }
  }
  const entry = resolve(folder, main)
  if (!existsSync(entry))
    throw new NoDriver(`${entry}, the main module of ${given}, does not exist; is the package built?`)
  const module = (await import(pathToFileURL(entry).href)) as Readonly<Record<string, unknown>>
  const driver = await exportedDriver(module)
  if (driver === undefined)
    throw new NoDriver(`${given} has no default export; it must be a driver, or a function that returns one`)
  if (typeof driver !== 'object' || driver === null) throw new NoDriver(`what ${given} exports is not a driver object`)
  // Whether it is one is the first thing that the suite checks.
  return { driver: driver as Driver, ...of }
}

/**
 * Imports what speaks for the proxies of a driver: the default export of a module, or else its export `standIn`.
 *
 * @param path - absolute
 * @throws NoDriver
 */
export async function loadStandIn(path: string): Promise<StandIn> {
  if (!existsSync(path))
    throw new NoDriver(`${path}, which is to speak for the proxies, does not exist; is the package built?`)
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown; readonly standIn?: unknown }
  const standIn = module.default ?? module.standIn
  if (!isStandIn(standIn))
    throw new NoDriver(`${path} exports no standIn, by that name or as default, with a function connect`)
  return standIn
}

function isStandIn(value: unknown): value is StandIn {
  return typeof value === 'object' && value !== null && 'connect' in value && typeof value.connect === 'function'
}

/** A host would refuse it for the same reason. */
function asNoDriver(reason: unknown): never {
  throw new NoDriver(errorMessage(reason))
}

function folderOf(given: string, from: string): string {
  const path = resolve(from, given)
  if (existsSync(path) && statSync(path).isDirectory()) return path
  const modules = createRequire(join(from, 'package.json')).resolve.paths(given) ?? []
  const installed = modules
    .map((folder) => join(folder, given))
    .find((folder) => existsSync(join(folder, 'package.json')))
  if (installed === undefined) throw new NoDriver(`there is no folder ${path}, and no package ${given} is installed`)
  return installed
}

/** Name and version of the package that this module belongs to. */
export function ownPackage(): { readonly name: string; readonly version: string } {
  const path = join(dirname(dirname(import.meta.dirname)), 'package.json')
  const { name = '', version = '' } = JSON.parse(readFileSync(path, 'utf8')) as Manifest
  return { name, version }
}
