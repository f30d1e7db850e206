import { hashPart } from './canonical.js'
import { compareText } from './order.js'
import type { Part, PartHash, ProxyPart } from './parts.js'
import { POLICY_VERSION, type PartRef, type ProxyPolicy } from './policy.js'
import { partRefs } from './references.js'

/** Difference of the reachable parts of two versions of a policy. */
export interface RefsDiff {
  /** In the later version only, in its order. */
  readonly added: readonly PartRef[]
  /** In the earlier version only, in its order. */
  readonly removed: readonly PartRef[]
}

/** Names a part that has the given hash. */
export function refOf(part: Part, hash: PartHash): PartRef {
  return { kind: part.kind, id: part.id, hash }
}

/**
 * The whole document below a proxy part.
 *
 * @param get - returns the part of a hash, and throws if there is none; its errors are passed on
 */
export function collectPolicy(proxy: ProxyPart, get: (hash: PartHash) => Part): ProxyPolicy {
  const reached = new Map<PartHash, Part>()
  const pending: PartHash[] = [...partRefs(proxy)]
  for (let hash = pending.pop(); hash !== undefined; hash = pending.pop()) {
    if (reached.has(hash)) continue
    const part = get(hash)
    reached.set(hash, part)
    pending.push(...partRefs(part))
  }
  return policyDocument(proxy, reached)
}

/** Assembles a document from its parts without checking them. */
export function policyDocument(proxy: ProxyPart, parts: Iterable<readonly [PartHash, Part]>): ProxyPolicy {
  const sorted = [...parts].sort(([a], [b]) => compareText(a, b))
  return { policyVersion: POLICY_VERSION, version: hashPart(proxy), proxy, parts: Object.fromEntries(sorted) }
}

/** Compares two lists of references by hash. */
export function diffRefs(before: readonly PartRef[], after: readonly PartRef[]): RefsDiff {
  const earlier = new Set(before.map(({ hash }) => hash))
  const later = new Set(after.map(({ hash }) => hash))
  return {
    added: after.filter(({ hash }) => !earlier.has(hash)),
    removed: before.filter(({ hash }) => !later.has(hash)),
  }
}
