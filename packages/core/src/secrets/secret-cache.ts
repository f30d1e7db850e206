import type { Credential } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import { nameKey } from '../namespaced-name.js'
import type { SecretReading } from './client-credential.js'
import type { SecretName, SecretStates } from './secret-source.js'

/** What is known of Secrets that are followed. */
export class SecretCache {
  readonly #readings = new Map<string, SecretReading>()
  readonly #listeners: Listeners
  #states: SecretStates | undefined

  /** @param onFault - told of a listener that throws */
  constructor(onFault: (error: unknown) => void) {
    this.#listeners = new Listeners(onFault)
  }

  /** The same object for as long as nothing has changed. */
  get states(): SecretStates {
    this.#states ??= new Map(
      [...this.#readings]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, it]) => [key, it.usable ? { usable: true } : { usable: false, fault: it.fault }]),
    )
    return this.#states
  }

  credential(name: SecretName): Credential | undefined {
    const reading = this.#readings.get(nameKey(name))
    return reading?.usable === true ? reading.credential.reveal() : undefined
  }

  knows(name: SecretName): boolean {
    return this.#readings.has(nameKey(name))
  }

  /** Takes in what was read; undefined forgets the Secret. */
  put(name: SecretName, reading: SecretReading | undefined): void {
    const key = nameKey(name)
    if (sameReading(this.#readings.get(key), reading)) return
    if (reading === undefined) this.#readings.delete(key)
    else this.#readings.set(key, reading)
    this.#states = undefined
    this.#listeners.notify()
  }

  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }
}

function sameReading(a: SecretReading | undefined, b: SecretReading | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  if (a.usable && b.usable) return a.credential.version === b.credential.version
  return !a.usable && !b.usable && a.fault === b.fault
}
