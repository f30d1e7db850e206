import {
  compareCanonical,
  type HeaderMatch,
  type OutboundMatch,
  type PathMatch,
  type RoutedPathMatch,
} from '@osm-ts/driver-api/policy'
import type {
  HeaderMatcherSchema,
  RouteMatchSchema,
} from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import type { StringMatcherSchema } from '@osm-ts/envoy-api/envoy/type/matcher/v3/string_pb.js'

import { type Init, oneOf } from '../encoding/encode.js'

type StringMatcherInit = Init<typeof StringMatcherSchema>
/** A condition on a header. */
export type HeaderMatcherInit = Init<typeof HeaderMatcherSchema>

/** The conditions of a request as the match of a route. */
export function routeMatch({
  path,
  methods,
  headers,
  queryParameters = [],
}: OutboundMatch): Init<typeof RouteMatchSchema> {
  return {
    pathSpecifier: pathSpecifier(path),
    headers: [...(methods === undefined ? [] : [methodMatcher(methods)]), ...headerMatchers(headers)],
    queryParameters: [...queryParameters]
      .sort(compareCanonical)
      .map(({ name, match }) => ({ name, queryParameterMatchSpecifier: oneOf('stringMatch', stringMatcher(match)) })),
  }
}

/** Conditions on headers, in a fixed order. */
export function headerMatchers(headers: readonly HeaderMatch[] = []): readonly HeaderMatcherInit[] {
  return [...headers].sort(compareCanonical).map(headerMatcher)
}

/** Conditions on one header; a missing header matches nothing, inverted or not, which is what Envoy does by itself. */
function headerMatcher({ name, match, invert }: HeaderMatch): HeaderMatcherInit {
  const invertMatch = invert ?? false
  if (match.type === 'present') return { name, headerMatchSpecifier: oneOf('presentMatch', true), invertMatch }
  return headerValue(name, match, invertMatch)
}

/** Matches the value of a header. */
export function headerValue(name: string, match: PathMatch, invertMatch = false): HeaderMatcherInit {
  return { name, headerMatchSpecifier: oneOf('stringMatch', stringMatcher(match)), invertMatch }
}

function pathSpecifier(path: RoutedPathMatch | undefined): NonNullable<Init<typeof RouteMatchSchema>['pathSpecifier']> {
  switch (path?.type) {
    case undefined:
      return { case: 'prefix', value: '' }
    case 'exact':
      return { case: 'path', value: path.value }
    case 'prefix':
      return { case: 'prefix', value: path.value }
    case 'regex':
      return { case: 'safeRegex', value: { regex: path.value } }
    case 'segments':
      return { case: 'pathSeparatedPrefix', value: path.value }
  }
}

/** A condition on a text. */
export function stringMatcher(match: PathMatch): StringMatcherInit {
  switch (match.type) {
    case 'exact':
      return { matchPattern: { case: 'exact', value: match.value } }
    case 'prefix':
      return { matchPattern: { case: 'prefix', value: match.value } }
    case 'regex':
      return { matchPattern: { case: 'safeRegex', value: { regex: match.value } } }
  }
}

/** A text as an expression that matches nothing else. */
export function quoted(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

/** The method is one of a list. */
export function methodMatcher(methods: readonly string[]): HeaderMatcherInit {
  const sorted = [...methods].sort()
  const match: PathMatch =
    sorted.length === 1 && sorted[0] !== undefined
      ? { type: 'exact', value: sorted[0] }
      : // Methods are words of letters, digits, `-` and `_`: nothing of a pattern.
        { type: 'regex', value: sorted.join('|') }
  return headerValue(':method', match)
}
