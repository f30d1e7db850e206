/** A string matcher. */
export type StringMatch =
  /** The value is equal, byte by byte. */
  | { readonly type: 'exact'; readonly value: string }
  /** The value starts with this text. */
  | { readonly type: 'prefix'; readonly value: string }
  /** The whole value matches. RE2 syntax, checked by the host. */
  | { readonly type: 'regex'; readonly value: string }
  /** The value exists; it may be empty. */
  | { readonly type: 'present' }

/** A matcher of a path: a {@link StringMatch} without `present`, since every request has a path. */
export type PathMatch = Exclude<StringMatch, { readonly type: 'present' }>

/**
 * A header matcher. Values of a header that occurs several times are joined with `,` first. A missing header does not match, inverted or not; only an inverted `present` matches it.
 */
export interface HeaderMatch {
  /** Lower case. */
  readonly name: string
  /** Applied to the header's value. */
  readonly match: StringMatch
  /** True: the condition holds if `match` does not. Absent instead of false. */
  readonly invert?: boolean
}

/**
 * Conditions on a request; all given ones must hold. A condition that holds for every request is omitted (not written as `.*` or an empty list),
 * so that equal conditions have one form and one hash.
 */
export interface RouteMatch {
  /** Matched against the path without query, after the path rule of the mesh (dot segments refused, `//` merged). */
  readonly path?: PathMatch
  /** Upper case, sorted, never empty. */
  readonly methods?: readonly string[]
  /** All must match. Sorted by name, then by canonical JSON; never empty. */
  readonly headers?: readonly HeaderMatch[]
}
