import type { Part, PartHash } from '@osm-ts/driver-api'

import type { PolicyPart } from '../policy/policy-part.js'

interface Entry {
  /** The first of the equal parts: its children are held for all of them. */
  readonly first: PolicyPart
  /** Every equal part in use with the number of its holders: they may come from different objects. */
  readonly holders: Map<PolicyPart, number>
}

/**
 * The parts of all policy versions that somebody holds.
 *
 * Parts form a graph without cycles, and each holds what it refers to. A version is held by holding its root; when the last holder lets go,
 * whatever only that version needed goes with it.
 */
export class PartStore {
  readonly #entries = new Map<PartHash, Entry>()

  /** Number of different parts held. */
  get size(): number {
    return this.#entries.size
  }

  /** The part, or undefined if nobody holds it. */
  get(hash: PartHash): Part | undefined {
    return this.#entries.get(hash)?.first.part
  }

  /** Every held part with that hash: equal in content, perhaps of different origin. */
  find(hash: PartHash): readonly PolicyPart[] {
    return [...(this.#entries.get(hash)?.holders.keys() ?? [])]
  }

  /** Holds a part and all below it. Each call needs its own {@link release} of the same object. */
  retain(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    if (entry !== undefined) {
      entry.holders.set(part, (entry.holders.get(part) ?? 0) + 1)
      return
    }
    this.#entries.set(part.hash, { first: part, holders: new Map([[part, 1]]) })
    for (const child of part.children) this.retain(child)
  }

  /** Lets go of what one {@link retain} held. */
  release(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    const count = entry?.holders.get(part)
    if (entry === undefined || count === undefined)
      throw new RangeError(`part ${part.part.kind} ${part.hash} is not held`)
    if (count > 1) entry.holders.set(part, count - 1)
    else entry.holders.delete(part)
    if (entry.holders.size > 0) return
    this.#entries.delete(part.hash)
    for (const child of entry.first.children) this.release(child)
  }
}
