import type { Driver } from '@osm-ts/driver-api'

import type { DriverSink, RefusedDriver } from '../src/load/load-drivers.js'

/** What a host remembers of its drivers, and of those that it does not have. */
export class TestSink implements DriverSink {
  readonly drivers = new Map<string, Driver>()
  readonly refused = new Map<string, RefusedDriver>()
  /** Number of state changes of a driver. */
  changes = 0
  readonly #builtIn: readonly string[]

  /** @param builtIn - classes that have a driver before any is loaded */
  constructor(...builtIn: readonly string[]) {
    this.#builtIn = builtIn
  }

  names(): readonly string[] {
    return [...this.#builtIn, ...this.drivers.keys()]
  }

  register(driver: Driver): void {
    this.drivers.set(driver.name, driver)
    this.refused.delete(driver.name)
  }

  refuse(refusal: RefusedDriver): void {
    this.refused.set(refusal.name, refusal)
  }

  changed(): void {
    this.changes += 1
  }
}
