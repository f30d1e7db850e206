import { writeSync } from 'node:fs'

import { createLogger, DriverRegistry } from '@osm-ts/core'
import { type Driver, type InjectorContext, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { type DriverEntry, hostDrivers } from '@osm-ts/driver-process'

import { builtInDrivers } from '../builtins.js'
import { LogFile } from '../process/log-file.js'
import type { JoinErrorCode } from './errors.js'

/** Drivers that a machine has beside those that are built in. */
export interface MachineDriversOptions {
  readonly entries: readonly DriverEntry[]
  /** Folder of the program, beside which that of drivers lies. */
  readonly programFolder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** File for what loaded drivers say of themselves. */
  readonly log: string
}

/** Drivers that say what the sidecar of a machine is. They are asked once, so that loaded ones end before the sidecar starts. */
export class MachineDrivers {
  readonly #registry = new DriverRegistry()
  readonly #end = new AbortController()
  #stopped: Promise<void> = Promise.resolve()

  private constructor() {
    for (const driver of builtInDrivers()) this.#registry.register(driver)
  }

  /** @throws OsmError with code `OSM_DRIVER_LOAD` if the program that serves packages is missing */
  static async load(options: MachineDriversOptions, signal: AbortSignal): Promise<MachineDrivers> {
    const { entries, programFolder, environment, log } = options
    const drivers = new MachineDrivers()
    if (entries.length === 0) return drivers
    const file = new LogFile(log)
    const { stopped } = await hostDrivers({
      entries,
      sink: drivers.#registry,
      programFolder,
      environment,
      logger: createLogger('osm-drivers', 'info', { write: (line) => void writeSync(file.fd, line) }),
      signal: AbortSignal.any([signal, drivers.#end.signal]),
    }).catch((error: unknown) => {
      file.close()
      throw error
    })
    drivers.#stopped = stopped.finally(() => file.close())
    return drivers
  }

  /** @throws OsmError with code `OSM_JOIN_CLASS`, telling why a driver of the list was refused */
  get(sidecarClass: string): Driver {
    const known = this.#registry.names()
    if (known.includes(sidecarClass.toLowerCase())) return this.#registry.get(sidecarClass)
    const refusal = this.#registry.refusal(sidecarClass)
    const code: JoinErrorCode = 'OSM_JOIN_CLASS'
    throw new OsmError(
      code,
      refusal === undefined
        ? `this machine has no driver of sidecar class ${sidecarClass}, only of ${known.join(', ')}; give its package by --driver-packages, or choose another --class`
        : `the driver of sidecar class ${sidecarClass} is refused: ${refusal.message} [${refusal.code}]`,
    )
  }

  /** @throws OsmError with a code of the driver contract */
  patch(context: InjectorContext, { name }: Driver): Promise<SidecarPatch> {
    return this.#registry.patch(context, name)
  }

  /** Ends the loaded ones. */
  async close(): Promise<void> {
    this.#end.abort()
    await this.#stopped
  }
}
