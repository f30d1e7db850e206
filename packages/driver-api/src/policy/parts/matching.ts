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

/** A matcher of a path that is routed. */
export type RoutedPathMatch =
  | PathMatch
  /** The path is this text, or continues it with `/`. Begins with `/`, does not end with it. */
  | { readonly type: 'segments'; readonly value: string }

/** A matcher of a parameter of the query. Of a name that occurs several times the first value counts. A missing parameter does not match. */
export interface QueryMatch {
  /** As it is written in the query, byte by byte: nothing is decoded. */
  readonly name: string
  /** Applied to the value as it is written in the query. */
  readonly match: Extract<StringMatch, { readonly type: 'exact' | 'regex' }>
}

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

/** Conditions on a request that is routed: those of {@link RouteMatch}, and some that rules about access have not. */
export interface OutboundMatch extends Omit<RouteMatch, 'path'> {
  /** Matched against the path without query, after the path rule of the mesh. */
  readonly path?: RoutedPathMatch
  /** All must match. Sorted by name, each name once; never empty. */
  readonly queryParameters?: readonly QueryMatch[]
}
