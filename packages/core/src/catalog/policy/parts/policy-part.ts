import { hashPart, type Part, type PartHash } from '@osm-ts/driver-api/policy'

import type { ObjectRef } from '../../../problem.js'

/** An object, or a field of it, that an element of a policy came from. */
export interface SourceRef {
  readonly object: ObjectRef
  /** Path inside the object, such as `spec.rules[0]`. */
  readonly field?: string
}

/** From JSON pointers into a part to where that element came from; the empty pointer stands for the part as a whole. */
export type Origins = Readonly<Record<string, readonly SourceRef[]>>

/**
 * A part with its address and what stands outside the hashed bytes.
 *
 * `children` are the parts that this one refers to by hash. They are held as objects, so that anyone who holds a part holds all that belongs to it.
 */
export interface PolicyPart<P extends Part = Part> {
  readonly hash: PartHash
  readonly part: P
  /** The one member that may change: see {@link keepPart}. */
  origins: Origins
  readonly children: readonly PolicyPart[]
  /** Of proxy parts: the same part with another set of endpoints. Takes less time than to make it again. */
  readonly withEndpoints?: (set: PolicyPart) => PolicyPart<P>
}

/** Freezes and hashes a part. */
export function makePart<P extends Part>(
  part: P,
  more: { readonly origins?: Origins; readonly children?: readonly PolicyPart[] } = {},
): PolicyPart<P> {
  deepFreeze(part)
  return { hash: hashPart(part), part, origins: more.origins ?? {}, children: more.children ?? [] }
}

/** Equality of queries that give a part: equal bytes are equal parts, wherever they came from. */
export function samePart(a: PolicyPart | undefined, b: PolicyPart | undefined): boolean {
  return a?.hash === b?.hash
}

/**
 * What stays of two equal parts: the older one, with the origins of the newer. The same rules may come from other objects than before; that is no
 * change of policy, but anyone who requests origins should hear of it.
 */
export function keepPart<T extends PolicyPart | undefined>(before: T, after: T): T {
  if (before !== undefined && after !== undefined) before.origins = after.origins
  return before
}

/** Freezes a plain value and everything in it. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}
