import { compareText, type HeaderMatch, type OutboundMatch, type RouteMatch } from '@osm-ts/driver-api/policy'

import { isMatchedHeaderName, type HTTPMatch } from '../../../spec/index.js'
import { sortedUnique } from '../parts/keys.js'
import { patternFault, patternMatch } from '../problems/pattern.js'

/** An expression, or a header name, of a match that can't be used. */
export interface MatchFault {
  /** Path inside the match, such as `pathRegex` or `headers[1]["user-agent"]`. */
  readonly field: string
  readonly message: string
  readonly code: 'OSM_SPEC_REGEX' | 'OSM_SPEC_HEADER'
}

/** A match of an HTTPRouteGroup in the terms of the policy, or why it can't be had. */
export type TranslatedMatch =
  { readonly ok: true; readonly match: RouteMatch } | { readonly ok: false; readonly faults: readonly MatchFault[] }

/** Why a header name can't be used. */
function headerNameFault(name: string): string {
  return `${JSON.stringify(name)} is not a header name`
}

/** True for a match that holds for every request. */
export function matchesEverything(match: OutboundMatch): boolean {
  return Object.keys(match).length === 0
}

/**
 * Translates a match. One bad expression or header name makes the whole match unusable: without the bad condition it would let in more than was written down.
 */
export function translateMatch(source: HTTPMatch): TranslatedMatch {
  const faults: MatchFault[] = []
  const check = (field: string, pattern: string): void => {
    const message = patternFault(pattern)
    if (message !== undefined) faults.push({ field, message, code: 'OSM_SPEC_REGEX' })
  }
  if (source.pathRegex !== undefined) check('pathRegex', source.pathRegex)
  const headers = new Map<string, HeaderMatch>()
  for (const [index, entry] of (source.headers ?? []).entries()) {
    for (const [name, pattern] of Object.entries(entry)) {
      const field = `headers[${index}][${JSON.stringify(name)}]`
      if (!isMatchedHeaderName(name)) faults.push({ field, message: headerNameFault(name), code: 'OSM_SPEC_HEADER' })
      check(field, pattern)
      const lower = name.toLowerCase()
      // Of equal names the last holds. A header that may have any value must still be there.
      headers.set(lower, { name: lower, match: patternMatch(pattern) ?? { type: 'present' } })
    }
  }
  if (faults.length > 0) return { ok: false, faults }
  // An empty expression is what OSM makes of a missing one.
  const path = source.pathRegex ? patternMatch(source.pathRegex) : undefined
  const methods = sortedUnique((source.methods ?? []).map((method) => method.toUpperCase()))
  const sorted = [...headers.values()].sort((a, b) => compareText(a.name, b.name))
  const match: RouteMatch = {
    ...(path === undefined ? {} : { path }),
    ...(methods.length === 0 || methods.includes('*') ? {} : { methods }),
    ...(sorted.length === 0 ? {} : { headers: sorted }),
  }
  return { ok: true, match }
}
