import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { type Driver, driverKey, isOsmError, type Logger } from '@osm-ts/driver-api'
import { type BackoffLimits, backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import { childEndpoint } from '../host/child-endpoint.js'
import { type OpenEndpoint, socketEndpoint } from '../host/endpoint.js'
import type { DriverLimits } from '../host/limits.js'
import { sleepUnlessAborted } from '../host/child-process.js'
import { RemoteDriver, type RemoteDriverStatus } from '../host/remote-driver.js'
import { processError } from '../wire/failure.js'
import type { DriverEntry } from './driver-list.js'
import { copyVerified } from './package-integrity.js'

/** What is known of a listed driver before it says anything. */
interface ListedDriver {
  readonly origin: 'package' | 'socket'
  readonly failurePolicy: DriverEntry['failurePolicy']
}

/** Why a driver of the list is not there. */
export interface RefusedDriver extends ListedDriver {
  readonly name: string
  readonly code: string
  readonly message: string
  /** False: it is tried again. */
  readonly final: boolean
}

/** Where a host keeps its drivers. */
export interface DriverSink {
  /** Classes that have a driver. */
  names(): readonly string[]
  /** @throws OsmError if it will not have the driver */
  register(
    driver: Driver,
    facts: ListedDriver & { readonly version: string; readonly process: () => RemoteDriverStatus },
  ): void
  /** Told when a driver is about to be loaded, and whenever that failed. */
  refuse(refusal: RefusedDriver): void
  /** Told when the process of a driver has failed or runs again: its status says which. */
  changed(): void
}

/** What loading needs. */
export interface LoadOptions {
  readonly entries: readonly DriverEntry[]
  readonly sink: DriverSink
  /** Bundle of the program that serves a package. */
  readonly program: string
  /** Ours; see `childEndpoint`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly limits?: Partial<DriverLimits>
  /** Milliseconds before what failed is loaded again: at first, and at most. */
  readonly retry?: BackoffLimits
  readonly logger: Logger
  /** 0 to 1. */
  readonly random: () => number
  /** Ends the drivers and their processes. */
  readonly signal: AbortSignal
}

/** Drivers of a list that are being loaded, or were. */
export interface LoadedDrivers {
  /** Resolves when each of them was loaded or refused once. */
  readonly settled: Promise<void>
  /** Resolves when the signal has aborted, every process is gone and every copy removed. */
  readonly stopped: Promise<void>
}

const RESIDENT_INTERVAL_MS = 1_000
const RETRY = { firstMs: 5_000, lastMs: 300_000 }
/** What a machine that is busy may have caused as well. The same package with the same digest fails in any other way again. */
const PASSING: ReadonlySet<string> = new Set([
  'OSM_DRIVER_TIMEOUT',
  'OSM_DRIVER_EXITED',
  'OSM_DRIVER_MEMORY',
  'OSM_DRIVER_UNAVAILABLE',
])

/**
 * Loads the drivers of a list, all at once, into the sink of a host. One that can't be used is refused and logged, and loaded again later if that may help;
 * the others do not depend on it.
 */
export async function loadDrivers(options: LoadOptions): Promise<LoadedDrivers> {
  const copies = await mkdtemp(join(tmpdir(), 'osm-drivers-'))
  const taken = new Set(options.sink.names().map(driverKey))
  const loadings = options.entries.map((entry) => {
    let settle = (): void => undefined
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const stopped = keepLoading(entry, { copies, taken, settle }, options).finally(settle)
    return { settled, stopped }
  })
  const stop = async (): Promise<void> => {
    await Promise.all(loadings.map(({ stopped }) => stopped))
    await rm(copies, { recursive: true, force: true })
  }
  return { settled: Promise.all(loadings.map(({ settled }) => settled)).then(() => undefined), stopped: stop() }
}

interface Loading {
  /** Folder for copies of packages. */
  readonly copies: string
  /** Classes that had a driver before any of the list. */
  readonly taken: ReadonlySet<string>
  /** Called when it is known for the first time what becomes of it. */
  readonly settle: () => void
}

/** Resolves when the driver will not be loaded any more and no process of it is left. */
async function keepLoading(entry: DriverEntry, loading: Loading, options: LoadOptions): Promise<void> {
  const { sink, logger, signal } = options
  const { name, failurePolicy } = entry
  const listed = { origin: 'socket' in entry ? 'socket' : 'package', failurePolicy } as const
  sink.refuse({
    name,
    ...listed,
    code: 'OSM_DRIVER_UNAVAILABLE',
    message: `driver ${name} is being loaded`,
    final: false,
  })
  let open: OpenEndpoint | undefined
  for (let failures = 1; ; failures += 1) {
    try {
      open ??= await endpointOf(entry, loading, options)
      const driver = await loadInto(open, entry, listed, options)
      logger.info({ driver: name, version: driver.version, origin: listed.origin }, 'a driver was loaded')
      loading.settle()
      await driver.stopped
      return
    } catch (error) {
      if (signal.aborted) return
      const message = errorMessage(error)
      const code = isOsmError(error) ? error.code : 'OSM_DRIVER_LOAD'
      const final = !PASSING.has(code)
      sink.refuse({ name, ...listed, code, message, final })
      logger.error({ driver: name, code, reason: message, final }, 'a driver is refused')
      loading.settle()
      if (final) return
    }
    if (!(await sleepUnlessAborted(backoffMs(failures, options.retry ?? RETRY, options.random), signal))) return
  }
}

async function loadInto(
  open: OpenEndpoint,
  { name }: DriverEntry,
  listed: ListedDriver,
  { sink, limits, logger, random, signal }: LoadOptions,
): Promise<RemoteDriver> {
  const unwanted = new AbortController()
  const driver = await RemoteDriver.connect({
    name,
    open,
    ...(limits === undefined ? {} : { limits }),
    logger,
    random,
    onChange: () => sink.changed(),
    signal: AbortSignal.any([signal, unwanted.signal]),
  })
  try {
    sink.register(driver, { ...listed, version: driver.version, process: () => driver.status })
    return driver
  } catch (error) {
    unwanted.abort()
    await driver.stopped
    throw error
  }
}

async function endpointOf(
  entry: DriverEntry,
  { copies, taken }: Loading,
  { program, environment }: LoadOptions,
): Promise<OpenEndpoint> {
  if (taken.has(driverKey(entry.name)))
    throw processError('OSM_DRIVER_NAME', `class ${entry.name} has a driver already; the list must name another class`)
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
