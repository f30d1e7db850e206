import { OsmError } from '../errors.js'
import type { Part, PartHash, PartKind, PartOf, SetMemberKind } from './parts.js'
import type { PartRef } from './policy.js'

/** Returns the part of a hash. Throws if there is none. */
export type PartLookup = (hash: PartHash) => Part

/** A member of a set. */
export interface PartInSet<P extends Part> {
  /** What the set refers to. */
  readonly part: P
  /** How the set refers to it. */
  readonly ref: PartRef
  /** The reader is in the namespace of the part. */
  readonly shortNames: boolean
}

/**
 * The part of a hash, which must be of a kind.
 *
 * @throws OsmError with code `OSM_POLICY_INVALID` if it is of another kind
 */
export function readPart<K extends PartKind>(parts: PartLookup, hash: PartHash, kind: K): PartOf<K> {
  const part = parts(hash)
  if (isOf(part, kind)) return part
  throw new OsmError('OSM_POLICY_INVALID', `part ${hash} is of kind ${part.kind}, expected ${kind}`)
}

/**
 * Members of a set and of the sets inside it, sorted by id; none where there is no set.
 *
 * @throws OsmError with code `OSM_POLICY_INVALID` if one of them is of another kind
 */
export function membersOf<K extends SetMemberKind>(
  parts: PartLookup,
  hash: PartHash | undefined,
  kind: K,
): readonly PartInSet<PartOf<K>>[] {
  if (hash === undefined) return []
  const found: PartInSet<PartOf<K>>[] = []
  const open = [{ hash, shortNames: false }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { shortNames } = next
    const set = readPart(parts, next.hash, 'set')
    for (const member of set.members) {
      const part = readPart(parts, member.hash, kind)
      found.push({ part, ref: { kind, id: member.id, hash: member.hash }, shortNames })
    }
    for (const inner of set.sets) open.push({ hash: inner.hash, shortNames: shortNames || inner.shortNames === true })
  }
  return found.sort((a, b) => (a.ref.id < b.ref.id ? -1 : 1))
}

function isOf<K extends PartKind>(part: Part, kind: K): part is PartOf<K> {
  return part.kind === kind
}
