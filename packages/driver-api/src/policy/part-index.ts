import { policyDocument, type RefsDiff, refOf } from './collect.js'
import type { Part, PartHash, ProxyPart, SetPart } from './parts.js'
import type { PartRef, ProxyPolicy } from './policy.js'
import { partRefs } from './references.js'

/** A set in memory: its direct members, and its nested sets, which other sets may share. */
interface SetNode {
  readonly ref: PartRef
  /** Members by hash, in the order of the set. */
  readonly members: ReadonlyMap<PartHash, PartRef>
  readonly nested: readonly SetNode[]
}

/**
 * Closures of policies, with a cache of the closures of sets by hash.
 *
 * Nearly all of a policy is sets that many proxies share. A set is read once for all references. When two versions of a policy are compared, sets with equal
 * hashes are skipped, so that the cost depends on the size of the change. Entries are not evicted automatically: call {@link evict} when the part of a
 * set is dropped.
 */
export class PartIndex {
  readonly #get: (hash: PartHash) => Part
  readonly #sets = new Map<PartHash, SetNode>()

  /** @param get - returns the part of a hash, and throws if there is none; every method passes its errors on */
  constructor(get: (hash: PartHash) => Part) {
    this.#get = get
  }

  /** Number of cached sets. */
  get size(): number {
    return this.#sets.size
  }

  /** Every part below a proxy part, each once, in the order in which the proxy part leads to them. */
  refs(proxy: ProxyPart): readonly PartRef[] {
    const reached = new Map<PartHash, PartRef>()
    for (const ref of this.#own(proxy)) reached.set(ref.hash, ref)
    for (const root of this.#roots(proxy)) reach(root, reached)
    return [...reached.values()]
  }

  /** The whole document below a proxy part. */
  collect(proxy: ProxyPart): ProxyPolicy {
    return policyDocument(
      proxy,
      this.refs(proxy).map(({ hash }) => [hash, this.#get(hash)] as const),
    )
  }

  /**
   * Returns the difference of two versions of a proxy's policy: `added` and `removed` of a PolicyUpdate. The parts of both versions
   * must be available.
   */
  diff(before: ProxyPart | undefined, after: ProxyPart): RefsDiff {
    if (before === undefined) return { added: this.refs(after), removed: [] }
    const old = this.#half(before)
    const now = this.#half(after)
    return { added: beyond(now, old), removed: beyond(old, now) }
  }

  /** Removes a set from the cache. Cached sets that contain it keep their copy, so evict outer sets as well. */
  evict(set: PartHash): boolean {
    return this.#sets.delete(set)
  }

  /** Removes every set from the cache. */
  clear(): void {
    this.#sets.clear()
  }

  #half(proxy: ProxyPart): Half {
    return { own: new Map(this.#own(proxy).map((ref) => [ref.hash, ref])), roots: this.#roots(proxy) }
  }

  /** What the proxy part leads to but for sets: a few dozen parts at most. */
  #own(proxy: ProxyPart): readonly PartRef[] {
    const sets = new Set(setHashes(proxy))
    const reached: PartRef[] = []
    for (const hash of partRefs(proxy)) {
      if (sets.has(hash)) continue
      const part = this.#get(hash)
      reached.push(refOf(part, hash))
      for (const inner of partRefs(part)) reached.push(refOf(this.#get(inner), inner))
    }
    return reached
  }

  #roots(proxy: ProxyPart): readonly SetNode[] {
    return setHashes(proxy).map((hash) => this.#node(hash))
  }

  #node(hash: PartHash): SetNode {
    const known = this.#sets.get(hash)
    if (known !== undefined) return known
    // Only members that the contract defines as sets contain hashes of sets.
    const part = this.#get(hash) as SetPart
    const node: SetNode = {
      ref: refOf(part, hash),
      members: new Map(part.members.map((member) => [member.hash, { kind: part.of, ...member }])),
      nested: part.sets.map((inner) => this.#node(inner.hash)),
    }
    this.#sets.set(hash, node)
    return node
  }
}

interface Half {
  readonly own: ReadonlyMap<PartHash, PartRef>
  readonly roots: readonly SetNode[]
}

function setHashes(proxy: ProxyPart): readonly PartHash[] {
  return [proxy.outbound, proxy.upstreams, proxy.endpoints, proxy.egress].filter((hash) => hash !== undefined)
}

function reach(node: SetNode, reached: Map<PartHash, PartRef>): void {
  if (reached.has(node.ref.hash)) return
  reached.set(node.ref.hash, node.ref)
  for (const ref of node.members.values()) reached.set(ref.hash, ref)
  for (const inner of node.nested) reach(inner, reached)
}

/** What `of` leads to and `other` does not. */
function beyond(of: Half, other: Half): readonly PartRef[] {
  const found = new Map<PartHash, PartRef>()
  for (const ref of of.own.values()) if (!other.own.has(ref.hash)) found.set(ref.hash, ref)
  const shared = setsOf(other.roots)
  const visit = (node: SetNode): void => {
    // An equal hash is an equal subtree.
    if (shared.has(node.ref.hash) || found.has(node.ref.hash)) return
    found.set(node.ref.hash, node.ref)
    // A member may have moved between sets, so that the whole other side counts, not only the set's earlier version.
    for (const ref of node.members.values()) if (!holds(shared, ref.hash)) found.set(ref.hash, ref)
    node.nested.forEach(visit)
  }
  of.roots.forEach(visit)
  return [...found.values()]
}

function setsOf(roots: readonly SetNode[], sets = new Map<PartHash, SetNode>()): ReadonlyMap<PartHash, SetNode> {
  for (const node of roots) {
    if (sets.has(node.ref.hash)) continue
    sets.set(node.ref.hash, node)
    setsOf(node.nested, sets)
  }
  return sets
}

function holds(sets: ReadonlyMap<PartHash, SetNode>, hash: PartHash): boolean {
  for (const node of sets.values()) if (node.members.has(hash)) return true
  return false
}
