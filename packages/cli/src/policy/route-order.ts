import type { HTTPRouteMatch } from '@osm-ts/core'

/** A match of an HTTPRoute, and the split that it comes from. */
export interface OrderedMatch<Split> {
  readonly match: HTTPRouteMatch
  readonly split: Split
  /** Path of the match inside the split. */
  readonly field: string
}

/**
 * Of matches in the order in which splits apply, those that an HTTPRoute prefers to one of another split before them, although one request may match both. The order
 * of an HTTPRoute is that of the Gateway API: an exact path, an expression, the longer one, a method, the most headers; then the order of the object.
 */
export function reorderedMatches<Split>(ordered: readonly OrderedMatch<Split>[]): readonly OrderedMatch<Split>[] {
  return ordered.filter((later, place) =>
    ordered
      .slice(0, place)
      .some(
        (earlier) =>
          earlier.split !== later.split && mayOverlap(earlier.match, later.match) && isCloser(later, earlier),
      ),
  )
}

function mayOverlap(a: HTTPRouteMatch, b: HTTPRouteMatch): boolean {
  return a.method === undefined || b.method === undefined || a.method === b.method
}

function isCloser<Split>({ match: a }: OrderedMatch<Split>, { match: b }: OrderedMatch<Split>): boolean {
  const ranks = ({ path, method, headers = [] }: HTTPRouteMatch): readonly number[] => [
    path === undefined ? 0 : path.type === 'Exact' ? 2 : 1,
    path?.value.length ?? 0,
    method === undefined ? 0 : 1,
    headers.length,
  ]
  const [mine, theirs] = [ranks(a), ranks(b)]
  const differing = mine.findIndex((rank, index) => rank !== theirs[index])
  return differing !== -1 && (mine[differing] ?? 0) > (theirs[differing] ?? 0)
}
