import { compareText, type OutboundMatch } from '@osm-ts/driver-api/policy'

import type { NamespacedName } from '../parts/keys.js'

/** How closely a match says which requests it is about: numbers in order of importance, of which a larger one comes first. */
export type Rank = readonly number[]

/** What decides which of two routes of one kind comes first. */
export interface RankedMatch {
  readonly rank: Rank
  readonly route: NamespacedName
  /** RFC 3339; empty if unknown. */
  readonly createdAt: string
  /** Place of the match among all matches of the route. */
  readonly place: number
}

/** How closely a matcher says what a path is. The Gateway API leaves open where expressions stand; here they come before prefixes. */
const pathRank = { exact: 3, regex: 2, segments: 1, prefix: 1 } as const

/** The rank of a match of an HTTPRoute: exact paths, then expressions, then the longest prefix; then a method, the most headers, the most query parameters. */
export function httpRank({ path, methods, headers = [], queryParameters = [] }: OutboundMatch): Rank {
  return [
    path === undefined ? 0 : pathRank[path.type],
    path === undefined ? 0 : path.value.length,
    methods === undefined ? 0 : 1,
    headers.length,
    queryParameters.length,
  ]
}

/** The order of the Gateway API: the closest match; then the oldest route, the first by namespace and name, and the first in it. */
export function compareRanked(a: RankedMatch, b: RankedMatch): number {
  return (
    compareRank(b.rank, a.rank) ||
    compareRoutes({ ...a.route, createdAt: a.createdAt }, { ...b.route, createdAt: b.createdAt }) ||
    a.place - b.place
  )
}

/** The order of routes that match alike: the oldest, then the first by namespace and name. An age is in RFC 3339; empty or absent if unknown. */
export function compareRoutes(a: DatedRoute, b: DatedRoute): number {
  return (
    compareAge(a.createdAt ?? '', b.createdAt ?? '') ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name)
  )
}

/** A route and its age. */
interface DatedRoute extends NamespacedName {
  readonly createdAt?: string
}

function compareRank(a: Rank, b: Rank): number {
  const at = a.findIndex((number, index) => number !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** Where one age is unknown, names decide: sources know all ages or none. */
function compareAge(a: string, b: string): number {
  if (a === '' || b === '') return 0
  return Math.sign(Date.parse(a) - Date.parse(b)) || 0
}
