import { Listeners } from '@osm-ts/driver-api/toolkit'

/** Virtual addresses by `<namespace>/<service>`. */
export type VirtualAddresses = Readonly<Record<string, string>>

/** Knows virtual addresses. */
export interface AddressTable {
  readonly current: () => VirtualAddresses
  /** Calls the listener after every change. The result ends the subscription. */
  readonly subscribe: (listener: () => void) => () => void
}

/** Addresses as somebody else says they are. */
export class FixedAddressTable implements AddressTable {
  readonly #listeners = new Listeners()
  #addresses: VirtualAddresses

  constructor(addresses: VirtualAddresses) {
    this.#addresses = addresses
  }

  readonly current = (): VirtualAddresses => this.#addresses

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener)

  /** Replaces all of them. */
  replace(addresses: VirtualAddresses): void {
    this.#addresses = addresses
    this.#listeners.notify()
  }
}
