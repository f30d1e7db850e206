import type { PartHash } from './values.js'

/** Kinds of parts that come in sets. */
export type SetMemberKind = 'outbound' | 'upstream' | 'endpoints' | 'egress'

/** A part of a set. */
export interface SetMember {
  /** Id of the part. */
  readonly id: string
  /** The part. */
  readonly hash: PartHash
}

/** A set inside a set. */
export interface SetRef {
  /** Id of the set. */
  readonly id: string
  /** The set. */
  readonly hash: PartHash
  /** `outbound` sets: the reader is in the namespace of the members, so that their short host names are valid too, also in nested sets. */
  readonly shortNames?: true
}

/** A list of parts of one kind that many proxies share. No id occurs twice in a set and its nested sets. */
export interface SetPart {
  readonly kind: 'set'
  /** Chosen by the host, such as `outbound/shop`. */
  readonly id: string
  /** Kind of the members. */
  readonly of: SetMemberKind
  /** Sorted by id. */
  readonly members: readonly SetMember[]
  /** Sorted by id. */
  readonly sets: readonly SetRef[]
}
