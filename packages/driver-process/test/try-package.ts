import { join } from 'node:path'

import type { Logger } from '@osm-ts/driver-api'

import { childEndpoint } from '../src/host/child-endpoint.js'
import { defaultLimits, type DriverLimits } from '../src/host/limits.js'
import { RemoteDriver } from '../src/host/remote-driver.js'

/** Short enough for a test to wait for, long enough for a machine that is busy. */
const limits: DriverLimits = { ...defaultLimits, backoffMs: 50, backoffMaxMs: 400, pingIntervalMs: 200 }

/** Which package, and what differs from others. */
export interface TriedPackage {
  readonly package: string
  readonly name?: string
  readonly limits?: Partial<DriverLimits>
  readonly heapMb?: number
  readonly residentMb?: number
  readonly onChange?: () => void
}

/** Drivers of the packages beside this file, and what they log. */
export class PackageTrial {
  readonly logs: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string }[] = []
  readonly #end = new AbortController()
  readonly #drivers: RemoteDriver[] = []
  readonly #program: string

  /** @param program - bundle that serves a package */
  constructor(program: string) {
    this.#program = program
  }

  async connect({ package: folder, name = 'failing', ...more }: TriedPackage): Promise<RemoteDriver> {
    const log = (fields: Readonly<Record<string, unknown>>, message: string) => void this.logs.push({ fields, message })
    const logger: Logger = { debug: log, info: log, warn: log, error: log }
    const driver = await RemoteDriver.connect({
      name,
      open: childEndpoint({
        name,
        program: this.#program,
        environment: { ...process.env, KUBERNETES_SERVICE_HOST: 'the API server' },
        folder: join(import.meta.dirname, 'packages', folder),
        heapMb: more.heapMb ?? 64,
        residentMb: more.residentMb ?? 400,
        residentIntervalMs: 50,
      }),
      limits: { ...limits, ...more.limits },
      logger,
      random: Math.random,
      ...(more.onChange && { onChange: more.onChange }),
      signal: this.#end.signal,
    })
    this.#drivers.push(driver)
    return driver
  }

  /** Ends every driver, and resolves when their processes are gone. */
  async end(): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#drivers.map(({ stopped }) => stopped))
  }
}
