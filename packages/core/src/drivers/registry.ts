import {
  driverKey,
  isDriverName,
  type ControllerContext,
  type Driver,
  type InjectorContext,
  OsmError,
  type SidecarPatch,
  type StartedDriver,
  isOsmError,
} from '@osm-ts/driver-api'
import { checkSidecarPatch, isContractRange, requireContract } from '@osm-ts/driver-api/host'
import { errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import { driverConfigCheck, type DriverConfigCheck } from './config-check.js'
import { builtInFacts, type DriverFacts, type DriverRefusal } from './driver-facts.js'

/**
 * The drivers of one process, and which of them is the mesh's default.
 *
 * An object, so that a process can hold several and a test needs no clean-up. Names compare case-insensitively.
 */
export class DriverRegistry {
  readonly #drivers = new Map<string, Driver>()
  readonly #configChecks = new Map<string, DriverConfigCheck>()
  readonly #facts = new Map<string, DriverFacts>()
  readonly #refusals = new Map<string, DriverRefusal>()
  readonly #listeners = new Listeners()
  #installed: Driver | undefined

  /**
   * Makes a driver available under its name. What was said of a driver of that class that was refused no longer holds.
   *
   * @throws OsmError `OSM_DRIVER_NIL`, `OSM_DRIVER_INVALID`, `OSM_DRIVER_CONTRACT`, `OSM_DRIVER_DUPLICATE`
   */
  register(driver: Driver | null | undefined, facts: DriverFacts = builtInFacts): void {
    if (driver === null || driver === undefined)
      throw new OsmError('OSM_DRIVER_NIL', 'register was called without a driver')
    const name = driverKey(driver.name)
    if (!isDriverName(driver.name)) {
      throw new OsmError('OSM_DRIVER_INVALID', `driver name ${JSON.stringify(driver.name)} is not a DNS label`, {
        details: { driver: name },
      })
    }
    if (typeof driver.patch !== 'function' || typeof driver.start !== 'function') {
      throw new OsmError('OSM_DRIVER_INVALID', `driver ${name} lacks patch or start`, { details: { driver: name } })
    }
    if (!isContractRange(driver.contract)) {
      throw new OsmError('OSM_DRIVER_INVALID', `driver ${name} must have a contract such as { min: 1, max: 1 }`, {
        details: { driver: name },
      })
    }
    requireContract({ name, contract: driver.contract })
    if (this.#drivers.has(name)) {
      throw new OsmError('OSM_DRIVER_DUPLICATE', `a driver named ${name} is registered already`, {
        details: { driver: name },
      })
    }
    this.#drivers.set(name, driver)
    this.#configChecks.set(name, driverConfigCheck(driver))
    this.#facts.set(name, facts)
    this.#refusals.delete(name)
    this.changed()
  }

  /** Remembers why a driver that was requested is not there. A later refusal of the same class takes the place of an earlier one. */
  refuse(refusal: DriverRefusal): void {
    this.#refusals.set(driverKey(refusal.name), refusal)
    this.changed()
  }

  /** Calls the listener after every driver that is added or refused, and whenever a driver's state changes. Call the result to unsubscribe. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Notifies listeners that a driver's state has changed: its process failed or runs again, or its start failed or succeeded. */
  changed(): void {
    this.#listeners.notify()
  }

  /** Drivers that were requested and are not there, sorted by class. One may be of a class that another driver serves. */
  refusals(): readonly DriverRefusal[] {
    return [...this.#refusals.keys()].sort().flatMap((name) => this.#refusals.get(name) ?? [])
  }

  /** Why a class has no driver; undefined if it has one, or no one has asked for one. */
  refusal(name: string): DriverRefusal | undefined {
    return this.#drivers.has(driverKey(name)) ? undefined : this.#refusals.get(driverKey(name))
  }

  /** What is known of the driver of a class; undefined if it has none. */
  facts(name: string): DriverFacts | undefined {
    return this.#facts.get(driverKey(name))
  }

  /** Names of the registered drivers, sorted. */
  names(): readonly string[] {
    return [...this.#drivers.keys()].sort()
  }

  /**
   * The driver of a sidecar class.
   *
   * @throws OsmError `OSM_DRIVER_UNKNOWN`, listing what is registered, and telling why a driver of that class was refused
   */
  get(name: string): Driver {
    const driver = this.#drivers.get(driverKey(name))
    if (driver !== undefined) return driver
    const registered = this.names()
    const refusal = this.refusal(name)
    const why = refusal === undefined ? '' : ` (its driver is refused: ${refusal.message} [${refusal.code}])`
    throw new OsmError(
      'OSM_DRIVER_UNKNOWN',
      `sidecar class ${JSON.stringify(name)} names no driver${why}; registered: ${registered.length === 0 ? 'none' : registered.join(', ')}`,
      { details: { driver: name, registered } },
    )
  }

  /**
   * Makes a registered driver the mesh's default.
   *
   * @throws OsmError `OSM_DRIVER_UNKNOWN`
   */
  install(name: string): Driver {
    this.#installed = this.get(name)
    return this.#installed
  }

  /**
   * Asks the default driver, or that of `sidecarClass`, for a patch and checks it.
   *
   * @throws OsmError `OSM_DRIVER_NOT_INSTALLED`, `OSM_DRIVER_UNKNOWN`, `OSM_DRIVER_CONFIG`, `OSM_DRIVER_PATCH`, `OSM_DRIVER_PATCH_REFUSED`
   */
  async patch(context: InjectorContext, sidecarClass?: string): Promise<SidecarPatch> {
    const driver = this.#pick(sidecarClass)
    this.#configChecks.get(driverKey(driver.name))?.(context.driverConfig)
    const patch = await named('OSM_DRIVER_PATCH', driver.name, 'produce a sidecar patch', () => driver.patch(context))
    checkSidecarPatch(patch, driver.name)
    return patch
  }

  /**
   * Starts the proxy control plane of the default driver, or that of `sidecarClass`.
   *
   * @throws OsmError `OSM_DRIVER_NOT_INSTALLED`, `OSM_DRIVER_UNKNOWN`, `OSM_DRIVER_CONFIG`, `OSM_DRIVER_START`
   */
  async start(context: ControllerContext, sidecarClass?: string): Promise<StartedDriver> {
    const driver = this.#pick(sidecarClass)
    this.#configChecks.get(driverKey(driver.name))?.(context.driverConfig)
    const started = await named('OSM_DRIVER_START', driver.name, 'start', () => driver.start(context))
    if (!hasEnd(started))
      throw new OsmError('OSM_DRIVER_START', `driver ${driver.name} must return { probes, stopped } from start`, {
        details: { driver: driver.name },
      })
    return started
  }

  #pick(sidecarClass: string | undefined): Driver {
    if (sidecarClass !== undefined) return this.get(sidecarClass)
    if (this.#installed !== undefined) return this.#installed
    throw new OsmError(
      'OSM_DRIVER_NOT_INSTALLED',
      'no default driver is installed; call install with the sidecar class of MeshConfig first',
    )
  }
}

/** A driver may be written in JavaScript, whose compiler does not look. */
function hasEnd(started: unknown): started is StartedDriver {
  return typeof started === 'object' && started !== null && 'stopped' in started && started.stopped instanceof Promise
}

async function named<T>(
  code: 'OSM_DRIVER_PATCH' | 'OSM_DRIVER_START',
  driver: string,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    if (isOsmError(cause)) throw cause
    throw new OsmError(code, `driver ${driver} failed to ${what}: ${errorMessage(cause)}`, {
      cause,
      details: { driver },
    })
  }
}
