import type { EndpointsUpdate } from '@osm-ts/driver-api'
import type { EndpointsPart, PartHash } from '@osm-ts/driver-api/policy'
import { Latest } from '@osm-ts/driver-api/toolkit'

import type { EndpointsChange } from '../catalog/store/endpoint-contents.js'

/** Endpoints that have become others, for drivers that follow them. A slow driver misses steps and no part. */
export class EndpointsFeed {
  readonly #followers = new Set<Follower>()
  #generation = 0

  /** Of the last change. */
  get generation(): number {
    return this.#generation
  }

  /** Takes in what changed, and gives the generation that it has from now on. */
  push(changes: readonly EndpointsChange[]): number {
    this.#generation += 1
    for (const follower of this.#followers) follower.push(this.#generation, changes)
    return this.#generation
  }

  /** See `PolicySource.endpoints`. */
  async *watch(signal: AbortSignal): AsyncGenerator<EndpointsUpdate, void, undefined> {
    const follower = new Follower()
    this.#followers.add(follower)
    try {
      yield* follower.read(signal)
    } finally {
      this.#followers.delete(follower)
    }
  }
}

class Follower {
  readonly #news = new Latest<number>()
  #parts = new Map<PartHash, EndpointsPart>()

  push(generation: number, changes: readonly EndpointsChange[]): void {
    for (const { frame, after } of changes) this.#parts.set(frame, after.part)
    this.#news.set(generation)
  }

  async *read(signal: AbortSignal): AsyncGenerator<EndpointsUpdate, void, undefined> {
    for await (const generation of this.#news.watch(signal)) {
      const parts = [...this.#parts].map(([hash, part]) => ({ hash, part }))
      this.#parts = new Map()
      yield { generation, parts }
    }
  }
}
