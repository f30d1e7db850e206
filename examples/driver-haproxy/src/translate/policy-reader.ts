import {
  type SetMemberKind,
  membersOf,
  type PartHash,
  type PartKind,
  type PartLookup,
  type PartOf,
  type PartRef,
  readPart,
  type PartInSet,
} from '@osm-ts/driver-api'

import { Unsayable } from './words.js'

/** An element of a policy that HAProxy is not told. What it protects is closed. */
export interface Refusal {
  readonly ref: PartRef
  /** JSON pointer of the element in its part. */
  readonly pointer: string
  /** In words for the author of the policy. */
  readonly message: string
}

/** Reads the parts of one policy, and collects what can't be done of them. */
export class PolicyReader {
  readonly refusals: Refusal[] = []
  readonly #parts: PartLookup

  constructor(parts: PartLookup) {
    this.#parts = parts
  }

  /** As `readPart`. */
  part<K extends PartKind>(hash: PartHash, kind: K): PartOf<K> {
    return readPart(this.#parts, hash, kind)
  }

  /** As `membersOf`. */
  members<K extends SetMemberKind>(hash: PartHash | undefined, kind: K): readonly PartInSet<PartOf<K>>[] {
    return membersOf(this.#parts, hash, kind)
  }

  /** Notes what is left out. */
  refuse(ref: PartRef, pointer: string, message: string): void {
    this.refusals.push({ ref, pointer, message })
  }

  /** What `say` gives; if it can't be said, that is noted, and `otherwise` stands in its place. */
  attempt<T>(ref: PartRef, pointer: string, otherwise: T, say: () => T): T {
    try {
      return say()
    } catch (error) {
      if (!(error instanceof Unsayable)) throw error
      this.refuse(ref, pointer, error.message)
      return otherwise
    }
  }
}
