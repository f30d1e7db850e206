import type { PartHash, PartKind, PartOf, SetMemberKind } from './parts.js'
import type { PartRef } from './policy.js'
import { membersOf, type PartInSet, type PartLookup, readPart } from './read-parts.js'

/** An element of a policy that is not sent to a sidecar, because its class does not support it. Traffic that the element protects is refused. */
export interface Refusal {
  /** The part that contains it. */
  readonly ref: PartRef
  /** JSON pointer of the element in its part; empty for the whole part. */
  readonly pointer: string
  /** The unsupported feature, described for the author of the policy. */
  readonly message: string
}

/** Reads the parts of one proxy's policy for a driver that translates the whole policy at once, and collects its unsupported elements. */
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

  /** Records an omitted element. The caller refuses the traffic that it protects. */
  refuse(ref: PartRef, pointer: string, message: string): void {
    this.refusals.push({ ref, pointer, message })
  }
}
