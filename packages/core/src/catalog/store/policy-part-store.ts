import type { Part, PartHash } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../policy/parts/policy-part.js'

interface Entry {
  /** The first of the equal parts: its children are held for all of them. */
  readonly first: PolicyPart
  /** Holders of that very object. */
  count: number
  /** Equal parts beside it, which come from different objects, with the number of their holders. Most have none. */
  others: Map<PolicyPart, number> | undefined
}

/** Hears of parts that a store holds. */
export interface PartWatch {
  /** The first part of that hash is held. */
  held(part: PolicyPart): void
  /** The last one was released. */
  released(part: PolicyPart): void
}

/**
 * The parts of all policy versions that somebody holds.
 *
 * Parts form a graph without cycles, and each holds what it refers to. A version is held by holding its root; when the last holder lets go,
 * whatever only that version needed goes with it.
 */
export class PolicyPartStore {
  readonly #entries = new Map<PartHash, Entry>()
  readonly #watch: PartWatch | undefined

  /** @param watch - told of each part that comes and goes */
  constructor(watch?: PartWatch) {
    this.#watch = watch
  }

  /** Number of different parts held. */
  get size(): number {
    return this.#entries.size
  }

  /** The part, or undefined if no one holds it. */
  get(hash: PartHash): Part | undefined {
    return this.#entries.get(hash)?.first.part
  }

  /** Every held part with that hash: equal in content, perhaps of different origin. */
  find(hash: PartHash): readonly PolicyPart[] {
    const entry = this.#entries.get(hash)
    if (entry === undefined) return []
    return [...(entry.count > 0 ? [entry.first] : []), ...(entry.others?.keys() ?? [])]
  }

  /** Holds a part and all below it. Each call needs its own {@link release} of the same object. */
  retain(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    if (entry === undefined) {
      this.#entries.set(part.hash, { first: part, count: 1, others: undefined })
      this.#watch?.held(part)
      for (const child of part.children) this.retain(child)
    } else if (entry.first === part) entry.count += 1
    else {
      entry.others ??= new Map()
      entry.others.set(part, (entry.others.get(part) ?? 0) + 1)
    }
  }

  /** Holds a part and releases its previous version. References that both have are not touched. */
  replace(before: PolicyPart, after: PolicyPart): void {
    const entry = this.#entries.get(before.hash)
    const isLast = entry?.first === before && entry.count === 1 && (entry.others?.size ?? 0) === 0
    if (!isLast || this.#entries.has(after.hash)) {
      this.retain(after)
      this.release(before)
      return
    }
    this.#entries.set(after.hash, { first: after, count: 1, others: undefined })
    this.#entries.delete(before.hash)
    this.#watch?.held(after)
    this.#watch?.released(before)
    after.children.forEach((child, place) => {
      if (before.children[place] !== child) this.retain(child)
    })
    before.children.forEach((child, place) => {
      if (after.children[place] !== child) this.release(child)
    })
  }

  /** Releases what one {@link retain} held. */
  release(part: PolicyPart): void {
    const entry = this.#entries.get(part.hash)
    const count = entry?.first === part ? entry.count : (entry?.others?.get(part) ?? 0)
    if (entry === undefined || count === 0) throw new RangeError(`part ${part.part.kind} ${part.hash} is not held`)
    if (entry.first === part) entry.count -= 1
    else if (count > 1) entry.others?.set(part, count - 1)
    else entry.others?.delete(part)
    if (entry.count > 0 || (entry.others?.size ?? 0) > 0) return
    this.#entries.delete(part.hash)
    this.#watch?.released(entry.first)
    for (const child of entry.first.children) this.release(child)
  }
}
