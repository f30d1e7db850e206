import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { ObjectOrigin, Problem } from '../problem.js'
import type { ObjectSource } from '../spec/object-source.js'
import type { ObjectKey } from '../spec/objects.js'
import type { Snapshot, SnapshotUpdate } from './snapshot.js'
import { SnapshotBuilder } from './snapshot-builder.js'

/** Joins sources into one stream of snapshots. There is none before every source has loaded once. */
export class SnapshotFeed {
  readonly #sources: readonly ObjectSource[]
  readonly #builder: SnapshotBuilder
  readonly #listeners = new Listeners<SnapshotUpdate>()
  #loaded = false

  /** @param sources - in order of precedence; names must differ */
  constructor(sources: readonly ObjectSource[]) {
    const names = sources.map((source) => source.name)
    if (new Set(names).size !== names.length) throw new RangeError(`names of sources must differ: ${names.join(', ')}`)
    this.#sources = sources
    this.#builder = new SnapshotBuilder(names)
  }

  /** Starts the sources and resolves when the first snapshot is there. Ends with the signal. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.start(signal)))
    // No await from here on: a change of a source can't fall between its objects being read and the subscription.
    const first = this.#builder.apply(
      this.#sources.map((source) => ({ source: source.name, upserts: source.objects(), deletes: [] })),
    )
    const ends = this.#sources.map((source) =>
      source.subscribe((change) => {
        const update = this.#builder.apply([{ ...change, source: source.name }])
        if (update.changed.length > 0) this.#publish(update)
      }),
    )
    const end = (): void => {
      for (const unsubscribe of ends) unsubscribe()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    this.#loaded = true
    this.#publish(first)
  }

  /** The newest snapshot, or undefined before all sources have loaded. */
  current(): Snapshot | undefined {
    return this.#loaded ? this.#builder.snapshot : undefined
  }

  /**
   * Calls the listener with every update, the first one included if it is yet to come. The result ends the
   * subscription.
   */
  subscribe(listener: (update: SnapshotUpdate) => void): () => void {
    return this.#listeners.add(listener)
  }

  /**
   * The newest snapshot and its changes, for parts that are made after the first snapshot only.
   *
   * The first throws a RangeError if it is asked too early.
   */
  reader(): { readonly current: () => Snapshot; readonly subscribe: SnapshotFeed['subscribe'] } {
    return {
      current: () => {
        if (!this.#loaded) throw new RangeError('the mesh was asked for before its sources were read')
        return this.#builder.snapshot
      },
      subscribe: (listener) => this.subscribe(listener),
    }
  }

  /** Problems of all sources, and objects that two sources hold. */
  problems(): readonly Problem[] {
    return [...this.#sources.flatMap((source) => source.problems()), ...this.#builder.problems()]
  }

  /** Where an object or one of its fields is written down. */
  locate(key: ObjectKey, field?: string): ObjectOrigin | undefined {
    for (const source of this.#sources) {
      const origin = source.locate(key, field)
      if (origin !== undefined) return origin
    }
    return undefined
  }

  #publish(update: SnapshotUpdate): void {
    this.#listeners.notify(update)
  }
}
