import { RE2JS } from 're2js'

import { isWithheld } from './identity-headers.js'
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

/** A request after the path rule. */
export type ReadRequest = Omit<HttpRequest, 'target'> & {
  readonly path: string
  /** Other ways to read the path, of which rules must let in each. */
  readonly readings?: readonly string[]
}

/** True if a match of an HTTPRouteGroup matches the request. One with an invalid expression matches no request. */
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
    const value = isWithheld(name) ? undefined : values.get(name)
    return value !== undefined && covers(pattern, value)
  })
}

/** True if a match lets in the request: it is about each way to read its path. Text without special characters names the very path that is sent. */
export function letsIn(match: HttpMatch, request: ReadRequest): boolean {
  const { method, path, headers, readings = [] } = request
  const { pathRegex = '' } = match
  return (
    isAbout(match, method, path, headers) &&
    (/^[-\w/~%!@&=,;:'" ]*$/.test(pathRegex) || readings.every((each) => covers(pathRegex, each)))
  )
}

/** False for a match with an invalid expression or an invalid header name. */
export function isUsable({ pathRegex = '', headers = [] }: HttpMatch): boolean {
  const entries = headers.flatMap((entry) => Object.entries(entry))
  return isExpression(pathRegex) && entries.every(([name, pattern]) => isHeaderName(name) && isExpression(pattern))
}

/** Matches of a group by name: of equal names the first. */
export function matchesByName(matches: readonly HttpMatch[]): ReadonlyMap<string, HttpMatch> {
  const named = new Map<string, HttpMatch>()
  for (const match of matches) if (!named.has(match.name)) named.set(match.name, match)
  return named
}

/** True for RE2. */
export function isExpression(pattern: string): boolean {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}

/** True for a field name, or the name of a part of the request line. */
export function isHeaderName(name: string): boolean {
  return HEADER_NAME.test(name)
}

/** True if the expression describes the text from its beginning to its end. */
export function covers(pattern: string, text: string): boolean {
  return RE2JS.matches(pattern, text)
}
