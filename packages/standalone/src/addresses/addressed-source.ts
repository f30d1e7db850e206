import {
  objectKey,
  type MeshObject,
  type ObjectKey,
  type ObjectOrigin,
  type ObjectSource,
  type Problem,
  type SourceChange,
} from '@osm-ts/core'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { AddressTable } from './virtual-addresses.js'

/**
 * A source whose Services have the virtual addresses of an address table, as an API server would have given them.
 *
 * The supervisor gives addresses out and the controller is told of them; both see the same Services through this.
 */
export class AddressedSource implements ObjectSource {
  readonly name: string
  readonly #source: ObjectSource
  readonly #table: AddressTable
  readonly #listeners = new Listeners<SourceChange>()

  constructor(source: ObjectSource, table: AddressTable) {
    this.name = source.name
    this.#source = source
    this.#table = table
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#source.start(signal)
    const ends = [
      this.#source.subscribe((change) =>
        this.#listeners.notify({ ...change, upserts: change.upserts.map((it) => this.#addressed(it)) }),
      ),
      this.#table.subscribe(() => {
        // Who listens compares contents, so that Services whose address stays the same change nothing.
        const upserts = this.objects().filter(({ kind }) => kind === 'Service')
        this.#listeners.notify({ upserts, deletes: [], problems: this.problems() })
      }),
    ]
    const end = (): void => {
      for (const unsubscribe of ends) unsubscribe()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    return this.#listeners.add(listener)
  }

  problems(): readonly Problem[] {
    return this.#source.problems()
  }

  objects(): readonly MeshObject[] {
    return this.#source.objects().map((object) => this.#addressed(object))
  }

  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined {
    return this.#source.locate(key, field)
  }

  #addressed(object: MeshObject): MeshObject {
    if (object.kind !== 'Service') return object
    const key = objectKey(object).slice('Service/'.length)
    const addresses = this.#table.current()
    const clusterIP = Object.hasOwn(addresses, key) ? addresses[key] : undefined
    if (clusterIP === undefined || object.spec.clusterIP === clusterIP) return object
    return Object.freeze({ ...object, spec: Object.freeze({ ...object.spec, clusterIP, clusterIPs: [clusterIP] }) })
  }
}
