import { isIdentityHeader, isOrderHeader } from '@osm-ts/driver-api/policy'

import type { Steps } from '../../async/index.js'
import { isMatchedHeaderName } from '../header-name.js'
import type { KindMap } from '../objects.js'
import { badPattern, doubt, fault, findings, inEach, type CheckContext, type Finding } from './check.js'

type Match = KindMap['HTTPRouteGroup']['spec']['matches'][number]

/** HTTPRouteGroups whose matches can't be told apart or can't match. */
export function* checkHTTPRouteGroup(
  { spec }: KindMap['HTTPRouteGroup'],
  context: CheckContext,
): Steps<readonly Finding[]> {
  const seen = new Set<string>()
  const matches: Finding[] = []
  for (const [index, match] of spec.matches.entries()) {
    const field = `spec.matches[${index}]`
    const repeated = seen.has(match.name)
    seen.add(match.name)
    const found = findings(
      repeated &&
        fault(
          'OSM_SPEC_CONFLICT',
          `${field}.name`,
          `${JSON.stringify(match.name)} is already the name of another match; names must be unique`,
        ),
      match.pathRegex !== undefined && badPattern(match.pathRegex, `${field}.pathRegex`, context),
      yield* checkHeaders(match, field, context),
    )
    for (const finding of found) matches.push(finding)
    yield
  }
  return findings(
    spec.matches.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.matches', 'is empty: no request matches'),
    matches,
  )
}

function* checkHeaders(match: Match, field: string, context: CheckContext): Steps<readonly Finding[]> {
  const found: Finding[] = []
  for (const [index, header] of (match.headers ?? []).entries()) {
    const ofHeader = yield* inEach(Object.entries(header), ([name, value]) => {
      const known = isMatchedHeaderName(name)
      const at = `${field}.headers[${index}]${known && /^[A-Za-z_]/.test(name) ? `.${name}` : ''}`
      return findings(
        !known && fault('OSM_SPEC_HEADER', at, `${JSON.stringify(name)} is not a header name`),
        isIdentityHeader(name) &&
          doubt(
            'OSM_SPEC_NO_EFFECT',
            at,
            'matches no request: sidecars remove this header, because it does not prove an identity',
          ),
        isOrderHeader(name) &&
          doubt(
            'OSM_SPEC_NO_EFFECT',
            at,
            'matches no request: sidecars remove this header, because it controls proxies',
          ),
        badPattern(value, at, context),
      )
    })
    for (const finding of ofHeader) found.push(finding)
  }
  return found
}
