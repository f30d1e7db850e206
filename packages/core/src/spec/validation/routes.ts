import { isMatchedHeaderName } from '../header-name.js'
import type { KindMap } from '../objects.js'
import { badPattern, doubt, fault, findings, type CheckContext, type Finding } from './check.js'

type Match = KindMap['HTTPRouteGroup']['spec']['matches'][number]

/** HTTPRouteGroups whose matches can't be told apart or can't match. */
export function checkHTTPRouteGroup({ spec }: KindMap['HTTPRouteGroup'], context: CheckContext): readonly Finding[] {
  const seen = new Set<string>()
  const matches = spec.matches.flatMap((match, index) => {
    const field = `spec.matches[${index}]`
    const repeated = seen.has(match.name)
    seen.add(match.name)
    return findings(
      repeated &&
        fault(
          'OSM_SPEC_CONFLICT',
          `${field}.name`,
          `${JSON.stringify(match.name)} is the name of a match before; give each its own`,
        ),
      match.pathRegex !== undefined && badPattern(match.pathRegex, `${field}.pathRegex`, context),
      checkHeaders(match, field, context),
    )
  })
  return findings(
    spec.matches.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.matches', 'is empty: no request matches'),
    matches,
  )
}

function checkHeaders(match: Match, field: string, context: CheckContext): readonly Finding[] {
  return (match.headers ?? []).flatMap((header, index) =>
    Object.entries(header).flatMap(([name, value]) => {
      const known = isMatchedHeaderName(name)
      const at = `${field}.headers[${index}]${known && /^[A-Za-z_]/.test(name) ? `.${name}` : ''}`
      return findings(
        !known && fault('OSM_SPEC_HEADER', at, `${JSON.stringify(name)} is no header name`),
        badPattern(value, at, context),
      )
    }),
  )
}
