import { compareText, type OutboundMatch } from '@osm-ts/driver-api/policy'

import type { NamespacedName } from '../parts/keys.js'

/** What decides which of two routes comes first. */
export interface RankedMatch {
  readonly match: OutboundMatch
  readonly route: NamespacedName
  /** RFC 3339; empty if unknown. */
  readonly createdAt: string
  /** Place of the match among all matches of the route. */
  readonly place: number
}

/** How closely a matcher says what a path is. The Gateway API leaves open where expressions stand; here they come before prefixes. */
const pathRank = { exact: 3, regex: 2, segments: 1, prefix: 1 } as const

/**
 * The order of the Gateway API: exact paths, then expressions, then the longest prefix; then a method, the most headers, the most query parameters; then
 * the oldest route, the first by namespace and name, and the first in it.
 */
export function compareRanked(a: RankedMatch, b: RankedMatch): number {
  return (
    pathRankOf(b) - pathRankOf(a) ||
    pathLength(b) - pathLength(a) ||
    Number(b.match.methods !== undefined) - Number(a.match.methods !== undefined) ||
    (b.match.headers ?? []).length - (a.match.headers ?? []).length ||
    (b.match.queryParameters ?? []).length - (a.match.queryParameters ?? []).length ||
    compareAge(a.createdAt, b.createdAt) ||
    compareText(a.route.namespace, b.route.namespace) ||
    compareText(a.route.name, b.route.name) ||
    a.place - b.place
  )
}

function pathRankOf({ match: { path } }: RankedMatch): number {
  return path === undefined ? 0 : pathRank[path.type]
}

function pathLength({ match: { path } }: RankedMatch): number {
  return path === undefined ? 0 : path.value.length
}

/** Where one age is unknown, names decide: sources know all ages or none. */
function compareAge(a: string, b: string): number {
  if (a === '' || b === '') return 0
  return Math.sign(Date.parse(a) - Date.parse(b)) || 0
}
