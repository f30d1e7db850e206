import type { HttpMatch, MatchReference, Objects, Rule } from './objects.js'
import { isUsable, matchesByName } from './route-match.js'

const GROUP_OF_ROUTES = 'specs.smi-spec.io'

/** A match that a reference leads to, and where it is written down. */
export interface ReferencedMatch {
  readonly match: HttpMatch
  readonly rule: Rule
}

/** Matches that requests are limited to by references to HTTPRouteGroups of a namespace. One that leads nowhere adds nothing. */
export function referencedMatches(
  objects: Objects,
  namespace: string,
  references: readonly MatchReference[],
): readonly ReferencedMatch[] {
  const groups = references.filter(
    ({ apiGroup = '', kind }) => kind === 'HTTPRouteGroup' && apiGroup.split('/')[0] === GROUP_OF_ROUTES,
  )
  return groups.flatMap(({ name }) => {
    const matches = objects.find('HTTPRouteGroup', { namespace, name })?.spec.matches ?? []
    return [...matchesByName(matches).values()].filter(isUsable).map((match) => ({
      match,
      rule: { kind: 'HTTPRouteGroup', namespace, name, field: `spec.matches[${matches.indexOf(match)}]` },
    }))
  })
}
