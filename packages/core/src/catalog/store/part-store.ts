import type { Part, PartHash } from '@osm-ts/driver-api'

import type { PolicyPart } from '../policy/policy-part.js'

interface Entry {
  readonly part: PolicyPart
  count: number
}

/**
 * The parts of all policy versions that somebody holds.
 *
 * Parts form a graph without cycles, and each holds what it refers to. A version is held by holding its root; when the last holder lets go,
 * whatever only that version needed goes with it.
 */
export class PartStore {
  readonly #entries = new Map<PartHash, Entry>()

  /** Number of parts held. */
  get size(): number {
    return this.#entries.size
  }

  /** The part, or undefined if nobody holds it. */
  get(hash: PartHash): Part | undefined {
    return this.#entries.get(hash)?.part.part
  }

  /** The part with its origins. */
  find(hash: PartHash): PolicyPart | undefined {
    return this.#entries.get(hash)?.part
  }

  /** Holds a part and all below it. Each call needs its own {@link release}. */
  retain(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    if (entry !== undefined) {
      entry.count += 1
      return
    }
    this.#entries.set(part.hash, { part, count: 1 })
    for (const child of part.children) this.retain(child)
  }

  /** Lets go of what one {@link retain} held. */
  release(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    if (entry === undefined) throw new RangeError(`part ${part.part.kind} ${part.hash} is not held`)
    entry.count -= 1
    if (entry.count > 0) return
    this.#entries.delete(part.hash)
    // The entry's own children: an equal part that came later may hold equal ones as other objects.
    for (const child of entry.part.children) this.release(child)
  }
}
