import type { PartHash, ProxyPart } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'

/** Callers with one set of endpoints. */
interface Group<C> {
  readonly members: Map<C, PolicyPart<ProxyPart>>
  /** Hashes of the parts of the set and its nested sets. */
  readonly parts: ReadonlySet<PartHash>
}

/**
 * Who may call which endpoints, by the sets that policies name: callers with one set are checked together.
 */
export class CallersOfEndpoints<C> {
  readonly #groups = new Map<PartHash, Group<C>>()
  readonly #setOf = new Map<C, PartHash>()

  /** The caller has that policy from now on. */
  set(caller: C, policy: PolicyPart<ProxyPart>): void {
    const hash = policy.part.endpoints
    if (this.#setOf.get(caller) !== hash) this.delete(caller)
    if (hash === undefined) return
    let group = this.#groups.get(hash)
    if (group === undefined) {
      const set = policy.children.find((child) => child.hash === hash)
      group = { members: new Map(), parts: new Set(set === undefined ? [] : partsBelow(set)) }
      this.#groups.set(hash, group)
    }
    group.members.set(caller, policy)
    this.#setOf.set(caller, hash)
  }

  /** It is gone. */
  delete(caller: C): void {
    const hash = this.#setOf.get(caller)
    if (hash === undefined) return
    this.#setOf.delete(caller)
    const group = this.#groups.get(hash)
    group?.members.delete(caller)
    if (group?.members.size === 0) this.#groups.delete(hash)
  }

  /** The policy that it was given last. */
  policyOf(caller: C): PolicyPart<ProxyPart> | undefined {
    const hash = this.#setOf.get(caller)
    return hash === undefined ? undefined : this.#groups.get(hash)?.members.get(caller)
  }

  /** True if the policy of the caller names one of the parts. */
  names(caller: C, parts: Iterable<PartHash>): boolean {
    const hash = this.#setOf.get(caller)
    const named = hash === undefined ? undefined : this.#groups.get(hash)?.parts
    for (const part of parts) if (named?.has(part) === true) return true
    return false
  }

  /** Calls back for each of those who may call one of the parts. Not a generator: one change may reach thousands. */
  forEachOf(parts: readonly PartHash[], visit: (caller: C) => void): void {
    for (const group of this.#groups.values())
      if (parts.some((part) => group.parts.has(part))) for (const caller of group.members.keys()) visit(caller)
  }
}

function* partsBelow(set: PolicyPart): Iterable<PartHash> {
  for (const child of set.children)
    if (child.part.kind === 'set') yield* partsBelow(child)
    else yield child.hash
}
