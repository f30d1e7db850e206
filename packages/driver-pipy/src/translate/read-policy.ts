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

/** An element of a policy that Pipy does not do. What it protects is closed, so that nothing passes that the policy forbids. */
export interface Refusal {
  readonly ref: PartRef
  /** JSON pointer of the element in its part. */
  readonly pointer: string
  /** What can't be done, in words for the author of the policy. */
  readonly message: string
}

/** Reads the parts of one proxy's policy, and collects what can't be done of them. */
export class PolicyReader {
  readonly #parts: PartLookup
  readonly refusals: Refusal[] = []

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

  refuse(ref: PartRef, pointer: string, message: string): void {
    this.refusals.push({ ref, pointer, message })
  }
}
