import type { PartRef, ProxyPart, SetPart } from '@osm-ts/driver-api/policy'

import { sameItems } from '../incremental/equality.js'
import type { PolicyPart } from '../policy/parts/policy-part.js'

/** What became reachable and what no longer is. No part occurs twice or in both. */
export interface PolicyDiff {
  readonly added: readonly PartRef[]
  readonly removed: readonly PartRef[]
}

const REMEMBERED_SET_DIFFS = 4096
const none: PolicyDiff = { added: [], removed: [] }

/**
 * Differences between versions of policies.
 *
 * Most of a policy is sets, and many proxies change from one set to another together: the difference of two sets is computed once and remembered.
 */
export class PolicyDiffs {
  readonly #flat = new WeakMap<PolicyPart, readonly PartRef[]>()
  readonly #setDiffs = new Map<string, PolicyDiff>()

  /** What leads from one version of a proxy's policy, or from nothing, to another. */
  between(before: PolicyPart<ProxyPart> | undefined, after: PolicyPart<ProxyPart>): PolicyDiff {
    if (before?.hash === after.hash) return none
    const replaced = before === undefined ? undefined : replacedSets(before, after)
    if (replaced !== undefined) return sum(replaced.map(([old, now]) => this.#betweenSets(old, now)))
    const [setsBefore, othersBefore] = split(before?.children ?? [])
    const [setsAfter, othersAfter] = split(after.children)
    // Root sets differ in the kind of their members, so that nothing moves from one to another.
    const sets = this.#pairs(setsBefore, setsAfter)
    if (sameItems(othersBefore, othersAfter)) return sum(sets)
    const others = difference(
      othersBefore.flatMap((part) => this.#flatten(part)),
      othersAfter.flatMap((part) => this.#flatten(part)),
    )
    return sum([others, ...sets])
  }

  #pairs(before: readonly PolicyPart<SetPart>[], after: readonly PolicyPart<SetPart>[]): readonly PolicyDiff[] {
    const earlier = new Map(before.map((set) => [set.part.id, set]))
    const diffs = after.map((set) => {
      const counterpart = earlier.get(set.part.id)
      earlier.delete(set.part.id)
      return this.#betweenSets(counterpart, set)
    })
    return [...diffs, ...[...earlier.values()].map((set) => ({ added: [], removed: this.#flatten(set) }))]
  }

  #betweenSets(before: PolicyPart<SetPart> | undefined, after: PolicyPart<SetPart>): PolicyDiff {
    if (before === undefined) return { added: this.#flatten(after), removed: [] }
    if (before.hash === after.hash) return none
    const key = `${before.hash} ${after.hash}`
    const known = this.#setDiffs.get(key)
    if (known !== undefined) return known
    const own = { added: [refOf(after)], removed: [refOf(before)] }
    const [nestedBefore, membersBefore] = split(before.children)
    const [nestedAfter, membersAfter] = split(after.children)
    const members = difference(membersBefore.map(refOf), membersAfter.map(refOf))
    const all = sum([own, members, ...this.#pairs(nestedBefore, nestedAfter)])
    // What one nested set lost and another got has only moved.
    const diff = difference(all.removed, all.added)
    this.#remember(key, diff)
    return diff
  }

  #remember(key: string, diff: PolicyDiff): void {
    if (this.#setDiffs.size >= REMEMBERED_SET_DIFFS) {
      const [oldest] = this.#setDiffs.keys()
      if (oldest !== undefined) this.#setDiffs.delete(oldest)
    }
    this.#setDiffs.set(key, diff)
  }

  #flatten(part: PolicyPart): readonly PartRef[] {
    const known = this.#flat.get(part)
    if (known !== undefined) return known
    const refs = unique([refOf(part), ...part.children.flatMap((child) => this.#flatten(child))])
    this.#flat.set(part, refs)
    return refs
  }
}

/** Names a part. The proxy part is the only one that {@link PolicyDiffs} never names. */
export function refOf({ part, hash }: PolicyPart): PartRef {
  return { kind: part.kind, id: part.id, hash }
}

/** The sets in which two versions differ, where they differ in nothing else, as after most changes; undefined otherwise. */
function replacedSets(
  before: PolicyPart,
  after: PolicyPart,
): readonly (readonly [PolicyPart<SetPart>, PolicyPart<SetPart>])[] | undefined {
  if (before.children.length !== after.children.length) return undefined
  const replaced: (readonly [PolicyPart<SetPart>, PolicyPart<SetPart>])[] = []
  for (const [place, now] of after.children.entries()) {
    const old = before.children[place]
    if (old === undefined || old === now) continue
    if (!isSet(old) || !isSet(now) || old.part.id !== now.part.id) return undefined
    replaced.push([old, now])
  }
  return replaced
}

function isSet(part: PolicyPart): part is PolicyPart<SetPart> {
  return part.part.kind === 'set'
}

/** Sets, and all others. Nothing below a set is also below something else: sets hold kinds that are in no other part. */
function split(children: readonly PolicyPart[]): readonly [readonly PolicyPart<SetPart>[], readonly PolicyPart[]] {
  return [children.filter(isSet), children.filter((child) => !isSet(child))]
}

function unique(refs: readonly PartRef[]): readonly PartRef[] {
  return [...new Map(refs.map((ref) => [ref.hash, ref])).values()]
}

function difference(before: readonly PartRef[], after: readonly PartRef[]): PolicyDiff {
  const earlier = new Set(before.map((ref) => ref.hash))
  const later = new Set(after.map((ref) => ref.hash))
  return {
    added: unique(after.filter((ref) => !earlier.has(ref.hash))),
    removed: unique(before.filter((ref) => !later.has(ref.hash))),
  }
}

function sum(diffs: readonly PolicyDiff[]): PolicyDiff {
  const [only, ...more] = diffs.filter((diff) => diff !== none)
  if (more.length === 0) return only ?? none
  return { added: diffs.flatMap((diff) => diff.added), removed: diffs.flatMap((diff) => diff.removed) }
}
