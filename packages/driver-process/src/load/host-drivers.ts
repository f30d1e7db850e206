import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

import type { Logger } from '@osm-ts/driver-api'

import { sleepUnlessAborted } from '../host/child-process.js'
import { processError } from '../wire/failure.js'
import type { DriverEntry } from './driver-list.js'
import { type DriverSink, loadDrivers } from './load-drivers.js'

/** How long a program that starts waits for its drivers. One that takes longer is there when it is there. */
const TIMEOUT_MS = 5_000

/** What a program that hosts drivers knows when it starts. */
export interface HostDriversOptions {
  readonly entries: readonly DriverEntry[]
  readonly sink: DriverSink
  /** Folder of the program, beside which that of drivers lies. */
  readonly programFolder: string
  /** Ours; see `childEndpoint`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly logger: Logger
  /** Ends the drivers and their processes. */
  readonly signal: AbortSignal
}

/**
 * Loads the drivers that a program is told to have, and waits for them for a while, as long as none of them hangs.
 *
 * @returns what resolves when the signal has aborted and nothing of them is left
 * @throws OsmError with code `OSM_DRIVER_LOAD` if the program that serves packages is missing
 */
export async function hostDrivers(options: HostDriversOptions): Promise<{ readonly stopped: Promise<void> }> {
  const { entries, sink, programFolder, environment, logger, signal } = options
  if (entries.length === 0) return { stopped: Promise.resolve() }
  const program = hostProgram(programFolder)
  const { settled, stopped } = await loadDrivers({
    entries,
    sink,
    program,
    environment,
    logger,
    random: Math.random,
    signal,
  })
  const waiting = new AbortController()
  await Promise.race([settled, sleepUnlessAborted(TIMEOUT_MS, AbortSignal.any([signal, waiting.signal]))])
  waiting.abort()
  return { stopped }
}

/** It is shipped beside the programs, and lies in its own package in a checkout. */
export function hostProgram(programFolder: string): string {
  const file = 'osm-driver-host.mjs'
  const candidates = [join(programFolder, file), resolve(programFolder, '../../driver-process/dist', file)]
  const found = candidates.find((path) => existsSync(path))
  if (found !== undefined) return found
  throw processError(
    'OSM_DRIVER_LOAD',
    `the program that serves driver packages is neither at ${candidates.join(' nor at ')}`,
  )
}
