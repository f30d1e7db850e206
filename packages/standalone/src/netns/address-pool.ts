import { addressAt, sizeOf, type Ipv4Range } from './ipv4-range.js'

/**
 * Gives out the host addresses of a range. The first is the host's own.
 *
 * An address that returned is given again as late as possible: a proxy that has not heard of the change yet then meets no one rather
 * than a stranger.
 */
export class AddressPool {
  readonly hostAddress: string
  readonly #range: Ipv4Range
  readonly #taken = new Set<number>()
  #last = 1

  constructor(range: Ipv4Range) {
    this.#range = range
    this.hostAddress = addressAt(range, 1)
  }

  /** An unused address, or undefined when all are taken. */
  take(): string | undefined {
    // Without the network address, the host's own, and the broadcast address.
    const count = sizeOf(this.#range) - 3
    for (let step = 0; step < count; step += 1) {
      const index = 2 + ((this.#last - 1 + step) % count)
      if (this.#taken.has(index)) continue
      this.#taken.add(index)
      this.#last = index
      return addressAt(this.#range, index)
    }
    return undefined
  }

  /** Gives an address back. */
  release(address: string): void {
    for (const index of this.#taken) if (addressAt(this.#range, index) === address) this.#taken.delete(index)
  }
}
