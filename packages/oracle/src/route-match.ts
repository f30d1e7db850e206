import { RE2JS } from 're2js'

import type { HttpMatch } from './objects.js'

/** A field name, or that of a part of the request line. */
const HEADER_NAME = /^:?[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** A request as rules see it. */
export interface HttpRequest {
  readonly method: string
  /** Path and query as they were sent; bytes where they may be no text. */
  readonly target: string | Uint8Array
  /** By name in any case. */
  readonly headers: Readonly<Record<string, string>>
}

/** True if a match of an HTTPRouteGroup is about the request. One with an expression that is none is about no request. */
export function isAbout(match: HttpMatch, method: string, path: string, headers: HttpRequest['headers']): boolean {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  // Of several conditions for one header the last holds.
  const conditions = new Map(
    (match.headers ?? []).flatMap((entry) =>
      Object.entries(entry).map(([name, pattern]) => [name.toLowerCase(), pattern] as const),
    ),
  )
  if (!isUsable(match)) return false
  const { pathRegex, methods = [] } = match
  if (pathRegex !== undefined && pathRegex !== '' && !covers(pathRegex, path)) return false
  if (methods.length > 0 && !methods.includes('*') && !methods.includes(method)) return false
  return [...conditions].every(([name, pattern]) => {
    const value = values.get(name)
    return value !== undefined && covers(pattern, value)
  })
}

/** False for a match with an expression that is none, or a name of a header that no request can have. */
export function isUsable({ pathRegex = '', headers = [] }: HttpMatch): boolean {
  const entries = headers.flatMap((entry) => Object.entries(entry))
  return isExpression(pathRegex) && entries.every(([name, pattern]) => HEADER_NAME.test(name) && isExpression(pattern))
}

/** Matches of a group by name: of equal names the first. */
export function matchesByName(matches: readonly HttpMatch[]): ReadonlyMap<string, HttpMatch> {
  const named = new Map<string, HttpMatch>()
  for (const match of matches) if (!named.has(match.name)) named.set(match.name, match)
  return named
}

function isExpression(pattern: string): boolean {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}

/** True if the expression describes the text from its beginning to its end. */
function covers(pattern: string, text: string): boolean {
  return RE2JS.matches(pattern, text)
}
