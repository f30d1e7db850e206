import { isIdentityHeader, isOrderHeader } from '@osm-ts/driver-api/policy'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import { RE2JS } from 're2js'

import { isMatchedHeaderName, type HTTPMatch, type KindMap } from '../../spec/index.js'
import { patternFault, patternMatch } from '../policy/problems/pattern.js'
import { headerNameFault } from '../policy/routing/route-match.js'

/** A request as a match looks at it. */
export interface MatchableRequest {
  /** As {@link requestPath} gives it. */
  readonly path: string
  /** As {@link requestPath} gives them; absent where none can differ, or where a request is routed rather than let in. */
  readonly readings?: readonly string[]
  readonly method: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** Conditions of a match that a request does not meet, in words; empty if it meets all. */
export function unmetConditions(match: HTTPMatch, request: MatchableRequest): readonly string[] {
  const { pathRegex, methods = [], headers = [] } = match
  const unmet: string[] = []
  if (pathRegex && !matchesWhole(pathRegex, request.path)) unmet.push(`the path must match ${pathRegex}`)
  else if (pathRegex) unmet.push(...unmetReadings(pathRegex, request.readings ?? []))
  const method = request.method.toUpperCase()
  if (methods.length > 0 && !methods.some((allowed) => allowed === '*' || allowed === method))
    unmet.push(`the method must be ${methods.join(' or ')}`)
  // Of equal names the last holds.
  const wanted = new Map(
    headers.flatMap((entry) => Object.entries(entry).map(([name, value]) => [name.toLowerCase(), value])),
  )
  for (const [name, pattern] of wanted) {
    if (isOrderHeader(name)) {
      unmet.push(`header ${name} never comes in: sidecars take it away, as it gives orders to proxies`)
      continue
    }
    if (isIdentityHeader(name)) {
      unmet.push(`header ${name} never comes in: sidecars take it away, as no header is proof of an identity`)
      continue
    }
    const value = ownValue(request.headers, name)
    if (value === undefined || !matchesWhole(pattern, value))
      unmet.push(`header ${name} must match ${pattern || 'the empty value'}`)
  }
  return unmet
}

/** What is compared as text names its escapes itself. */
function unmetReadings(pathRegex: string, readings: readonly string[]): readonly string[] {
  if (patternMatch(pathRegex)?.type === 'exact') return []
  const reading = readings.find((each) => !matchesWhole(pathRegex, each))
  return reading === undefined
    ? []
    : [`the path must match ${pathRegex} in every reading, and an application may read it as ${reading}`]
}

/** True if the whole text matches the RE2 expression; false for what is no expression. */
function matchesWhole(pattern: string, text: string): boolean {
  try {
    return RE2JS.compile(pattern).matches(text)
  } catch {
    return false
  }
}

/** Matches of a group that count: of equal names the first. */
export function namedMatches(group: KindMap['HTTPRouteGroup']): readonly HTTPMatch[] {
  const { matches } = group.spec
  const seen = new Set<string>()
  return matches.filter(({ name }) => {
    const isFirst = !seen.has(name)
    seen.add(name)
    return isFirst
  })
}

/** Why a match can't be used: one of its expressions or header names is none. */
export function matchFault({ pathRegex = '', headers = [] }: HTTPMatch): string | undefined {
  const patterns = [pathRegex, ...headers.flatMap((entry) => Object.values(entry))]
  const badName = headers.flatMap((entry) => Object.keys(entry)).find((name) => !isMatchedHeaderName(name))
  return (
    patterns.map(patternFault).find((fault) => fault !== undefined) ??
    (badName === undefined ? undefined : headerNameFault(badName))
  )
}
