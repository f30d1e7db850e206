import {
  OsmError,
  type Part,
  type PartHash,
  type PartKind,
  type PartOf,
  type PartRef,
  type ProxyPart,
} from '@osm-ts/driver-api'

import { Unsayable } from './words.js'

/** Gives the part of a hash. */
export type PartLookup = (hash: PartHash) => Part

/** An element of a policy that HAProxy is not told. What it protects is closed. */
export interface Refusal {
  readonly ref: PartRef
  /** JSON pointer of the element in its part. */
  readonly pointer: string
  /** In words for the author of the policy. */
  readonly message: string
}

/** A part of a set. */
export interface Member<P extends Part> {
  readonly part: P
  readonly ref: PartRef
  /** The reader is in the namespace of the part. */
  readonly shortNames: boolean
}

type MemberKind = 'outbound' | 'upstream' | 'endpoints' | 'egress'

/** Reads the parts of one policy, and collects what can't be done of them. */
export class PolicyReader {
  readonly refusals: Refusal[] = []
  readonly #parts: PartLookup

  constructor(parts: PartLookup) {
    this.#parts = parts
  }

  /** @throws OsmError with code `OSM_POLICY_INVALID` if the hash is that of a part of another kind */
  part<K extends PartKind>(hash: PartHash, kind: K): PartOf<K> {
    const part = this.#parts(hash)
    if (part.kind !== kind)
      throw new OsmError('OSM_POLICY_INVALID', `part ${hash} is of kind ${part.kind}, expected ${kind}`)
    // Compared just now; the compiler does not follow.
    return part as PartOf<K>
  }

  /** Members of a set and of the sets in it, sorted by id. */
  members<K extends MemberKind>(hash: ProxyPart['outbound'], kind: K): readonly Member<PartOf<K>>[] {
    if (hash === undefined) return []
    const found: Member<PartOf<K>>[] = []
    const open = [{ hash, shortNames: false }]
    for (let set = open.pop(); set !== undefined; set = open.pop()) {
      const { members, sets } = this.part(set.hash, 'set')
      for (const member of members)
        found.push({
          part: this.part(member.hash, kind),
          ref: { kind, id: member.id, hash: member.hash },
          shortNames: set.shortNames,
        })
      for (const inner of sets) open.push({ hash: inner.hash, shortNames: set.shortNames || inner.shortNames === true })
    }
    return found.sort((a, b) => (a.ref.id < b.ref.id ? -1 : 1))
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
