import {
  isIdentityHeader,
  isOrderHeader,
  type OutboundMatch,
  type RoutedPathMatch,
  type StringMatch,
} from '@osm-ts/driver-api/policy'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import { RE2JS } from 're2js'

/** A request as the routes of a policy see it. */
export interface MatchableRequest {
  /** As `requestPath` returns it. */
  readonly path: string
  /** As `requestPath` returns them. Absent if there are none, or if a request is routed rather than let in. */
  readonly readings?: readonly string[]
  readonly method: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Without the question mark; absent or empty if there is none. */
  readonly query?: string
}

/** Headers of a request by their names in lower case, as sidecars compare them. */
export function lowerHeaderNames(headers: Readonly<Record<string, string>>): MatchableRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** True if the route of a policy takes the request, as sidecars decide it. */
export function matchesRoute(match: OutboundMatch, request: MatchableRequest): boolean {
  return unmetConditions(match, request).length === 0
}

/** Conditions of a route that a request does not meet, in words; empty if it meets all. */
export function unmetConditions(
  { path, methods, headers = [], queryParameters = [] }: OutboundMatch,
  request: MatchableRequest,
): string[] {
  const unmet: string[] = []
  if (path !== undefined && !takes(path, request.path)) unmet.push(`the path must ${wanted(path)}`)
  // An exact condition looks at the path as it was sent alone.
  else if (path !== undefined && path.type !== 'exact') {
    const reading = request.readings?.find((each) => !takes(path, each))
    if (reading !== undefined)
      unmet.push(`the path must ${wanted(path)} in every reading, and an application may read it as ${reading}`)
  }
  if (methods !== undefined && !methods.includes(request.method.toUpperCase()))
    unmet.push(`the method must be ${methods.join(' or ')}`)
  for (const { name, match, invert = false } of headers) {
    const removed = removal(name)
    const value = removed === undefined ? ownValue(request.headers, name) : undefined
    const isMet = value === undefined ? invert && match.type === 'present' : takes(match, value) !== invert
    if (!isMet) unmet.push(`header ${name} ${removed ?? `must ${invert ? 'not ' : ''}${wanted(match)}`}`)
  }
  for (const { name, match } of queryParameters) {
    const value = firstParameter(request.query ?? '', name)
    if (value === undefined || !takes(match, value)) unmet.push(`query parameter ${name} must ${wanted(match)}`)
  }
  return unmet
}

function firstParameter(query: string, name: string): string | undefined {
  const found = query.split('&').find((parameter) => parameter === name || parameter.startsWith(`${name}=`))
  return found?.slice(name.length + 1)
}

/** Why sidecars remove a header before a rule is evaluated; undefined if they do not. */
function removal(name: string): string | undefined {
  if (isOrderHeader(name)) return 'never arrives: sidecars remove it, because it controls proxies'
  if (isIdentityHeader(name)) return 'never arrives: sidecars remove it, because a header does not prove an identity'
  return undefined
}

function takes(match: StringMatch | RoutedPathMatch, text: string): boolean {
  switch (match.type) {
    case 'exact':
      return text === match.value
    case 'prefix':
      return text.startsWith(match.value)
    case 'segments':
      return text === match.value || text.startsWith(`${match.value}/`)
    case 'regex':
      return RE2JS.matches(match.value, text)
    case 'present':
      return true
  }
}

function wanted(match: StringMatch | RoutedPathMatch): string {
  switch (match.type) {
    case 'exact':
    case 'regex':
      return `match ${match.value || 'the empty value'}`
    case 'prefix':
    case 'segments':
      return `begin with ${match.value}`
    case 'present':
      return 'be there'
  }
}
