import type { PartHash, PartKind, PartOf, SetMemberKind } from './parts.js'
import type { PartRef } from './policy.js'
import { membersOf, type PartInSet, type PartLookup, readPart } from './read-parts.js'

/** An element of a policy that a sidecar is not told, because its class can't do it. What it protects is closed, so that nothing passes that the policy forbids. */
export interface Refusal {
  /** The part that it stands in. */
  readonly ref: PartRef
  /** JSON pointer of the element in its part; empty for the whole part. */
  readonly pointer: string
  /** What can't be done, in words for the author of the policy. */
  readonly message: string
}

/** Reads the parts of one proxy's policy for a driver that translates all of it at once, and collects what can't be done of them. */
export class PolicyReader {
  /** In the order in which they were found. */
  readonly refusals: Refusal[] = []
  readonly #parts: PartLookup

  /** @param parts - gives every part that is reachable from the proxy part */
  constructor(parts: PartLookup) {
    this.#parts = parts
  }

  /** As {@link readPart}. */
  part<K extends PartKind>(hash: PartHash, kind: K): PartOf<K> {
    return readPart(this.#parts, hash, kind)
  }

  /** As {@link membersOf}. */
  members<K extends SetMemberKind>(hash: PartHash | undefined, kind: K): readonly PartInSet<PartOf<K>>[] {
    return membersOf(this.#parts, hash, kind)
  }

  /** Notes what is left out. The caller closes what it protects. */
  refuse(ref: PartRef, pointer: string, message: string): void {
    this.refusals.push({ ref, pointer, message })
  }
}
