import {
  OsmError,
  type Part,
  type PartHash,
  type PartKind,
  type PartOf,
  type PartRef,
  type ProxyPart,
} from '@osm-ts/driver-api'

/** Gives the part of a hash. */
export type PartLookup = (hash: PartHash) => Part

/** A part of a set. */
export interface Member<P extends Part> {
  readonly part: P
  readonly ref: PartRef
  /** The reader is in the namespace of the part. */
  readonly shortNames: boolean
}

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

  /** @throws OsmError with code `OSM_POLICY_INVALID` if the hash is that of another kind of part */
  part<K extends PartKind>(hash: PartHash, kind: K): PartOf<K> {
    const part = this.#parts(hash)
    if (isOf(part, kind)) return part
    throw new OsmError('OSM_POLICY_INVALID', `part ${hash} is of kind ${part.kind}, expected ${kind}`)
  }

  /** Members of a set and of the sets inside it, sorted by id. */
  members<K extends 'outbound' | 'upstream' | 'endpoints' | 'egress'>(
    hash: ProxyPart['outbound'],
    kind: K,
  ): readonly Member<PartOf<K>>[] {
    if (hash === undefined) return []
    return [...this.#members(hash, kind, false)].sort((a, b) => (a.ref.id < b.ref.id ? -1 : 1))
  }

  refuse(ref: PartRef, pointer: string, message: string): void {
    this.refusals.push({ ref, pointer, message })
  }

  #members<K extends 'outbound' | 'upstream' | 'endpoints' | 'egress'>(
    hash: PartHash,
    kind: K,
    shortNames: boolean,
  ): readonly Member<PartOf<K>>[] {
    const set = this.part(hash, 'set')
    return [
      ...set.members.map((member) => ({
        part: this.part(member.hash, kind),
        ref: { kind, id: member.id, hash: member.hash },
        shortNames,
      })),
      ...set.sets.flatMap((inner) => this.#members(inner.hash, kind, shortNames || inner.shortNames === true)),
    ]
  }
}

function isOf<K extends PartKind>(part: Part, kind: K): part is PartOf<K> {
  return part.kind === kind
}
