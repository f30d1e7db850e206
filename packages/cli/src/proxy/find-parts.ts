import type { Part, PartHash, PartKind, PartOf, ProxyPolicy } from '@osm-ts/driver-api/policy'

/** The part behind a reference, if the document holds it and it is of that kind. */
export function partOf<K extends PartKind>(
  policy: ProxyPolicy,
  kind: K,
  hash: PartHash | undefined,
): PartOf<K> | undefined {
  const part = hash === undefined ? undefined : policy.parts[hash]
  return part !== undefined && isPartOf(part, kind) ? part : undefined
}

/** All members of a set and of the sets inside it, sorted by id. */
export function membersOf<K extends PartKind>(
  policy: ProxyPolicy,
  kind: K,
  set: PartHash | undefined,
): readonly PartOf<K>[] {
  const part = partOf(policy, 'set', set)
  if (part === undefined) return []
  const own = part.members.flatMap(({ hash }) => partOf(policy, kind, hash) ?? [])
  const nested = part.sets.flatMap(({ hash }) => membersOf(policy, kind, hash))
  return [...own, ...nested].sort((a, b) => (a.id < b.id ? -1 : 1))
}

function isPartOf<K extends PartKind>(part: Part, kind: K): part is PartOf<K> {
  return part.kind === kind
}
