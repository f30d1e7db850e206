import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { driverKey, isOsmError, type Logger } from '@osm-ts/driver-api'

import { childEndpoint } from '../host/child-endpoint.js'
import { type OpenEndpoint, socketEndpoint } from '../host/endpoint.js'
import type { DriverLimits } from '../host/limits.js'
import { RemoteDriver } from '../host/remote-driver.js'
import { processError } from '../wire/failure.js'
import type { DriverEntry } from './driver-list.js'
import { copyVerified } from './package-integrity.js'

/** What loading needs. */
export interface LoadOptions {
  readonly entries: readonly DriverEntry[]
  /** Classes that have a driver already. */
  readonly taken: readonly string[]
  /** Bundle of the program that serves a package. */
  readonly program: string
  /** Ours; see `childEndpoint`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly limits?: Partial<DriverLimits>
  readonly logger: Logger
  /** 0 to 1. */
  readonly random: () => number
  /** Ends the drivers and their processes. */
  readonly signal: AbortSignal
}

/** Why a driver of the list is not there. */
export interface RefusedDriver {
  readonly name: string
  readonly code: string
  readonly message: string
}

/** What became of a list. */
export interface LoadedDrivers {
  readonly drivers: readonly RemoteDriver[]
  readonly refused: readonly RefusedDriver[]
  /** Resolves when the signal has aborted, every process is gone and every copy removed. */
  readonly stopped: Promise<void>
}

const RESIDENT_INTERVAL_MS = 1_000

/** Loads the drivers of a list, all at once. One that can't be used is refused and logged; the others do not depend on it. */
export async function loadDrivers(options: LoadOptions): Promise<LoadedDrivers> {
  const { entries, logger } = options
  const copies = await mkdtemp(join(tmpdir(), 'osm-drivers-'))
  const outcomes = await Promise.all(
    entries.map(async (entry) => {
      try {
        return await loadDriver(entry, copies, options)
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        const refusal = { name: entry.name, code: isOsmError(error) ? error.code : 'OSM_DRIVER_LOAD', message }
        logger.error({ driver: refusal.name, code: refusal.code, reason: message }, 'a driver is refused')
        return refusal
      }
    }),
  )
  const drivers = outcomes.filter((outcome) => outcome instanceof RemoteDriver)
  const refused = outcomes.flatMap((outcome) => (outcome instanceof RemoteDriver ? [] : [outcome]))
  const stop = async (): Promise<void> => {
    await Promise.all([...drivers.map(({ stopped }) => stopped), untilAborted(options.signal)])
    await rm(copies, { recursive: true, force: true })
  }
  return { drivers, refused, stopped: stop() }
}

async function loadDriver(entry: DriverEntry, copies: string, options: LoadOptions): Promise<RemoteDriver> {
  const { taken, limits, logger, random, signal } = options
  if (taken.some((name) => driverKey(name) === driverKey(entry.name)))
    throw processError('OSM_DRIVER_NAME', `class ${entry.name} has a driver already; the list must name another class`)
  const open = await endpointOf(entry, copies, options)
  return RemoteDriver.connect({
    name: entry.name,
    open,
    ...(limits === undefined ? {} : { limits }),
    logger,
    random,
    signal,
  })
}

async function endpointOf(
  entry: DriverEntry,
  copies: string,
  { program, environment }: LoadOptions,
): Promise<OpenEndpoint> {
  if ('socket' in entry) return socketEndpoint(entry.socket, dirname(entry.socket))
  const { name, path, integrity, heapMb, residentMb } = entry
  const folder = join(copies, name)
  await copyVerified(path, integrity, folder)
  return childEndpoint({
    name,
    program,
    folder,
    environment,
    heapMb,
    residentMb,
    residentIntervalMs: RESIDENT_INTERVAL_MS,
  })
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
