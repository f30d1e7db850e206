import { canonicalJson, compareText, type RouteMatch } from '@osm-ts/driver-api/policy'

import type { KindMap } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameKey } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, type ProblemList } from '../problems/problems.js'
import { routeGroup } from './route-groups.js'

type References = NonNullable<KindMap['IngressBackend']['spec']['matches']>

/** Requests that references to HTTPRouteGroups let through. */
export interface ReferencedMatches {
  /** Sorted by canonical JSON; empty if the references lead to nothing, which lets nothing through. */
  readonly matches: readonly RouteMatch[]
  readonly origins: readonly SourceRef[]
}

const GROUP = 'specs.smi-spec.io'

/**
 * Follows `spec.matches` of an object that opens services. Without any, every request passes. A reference that leads nowhere adds nothing: an object that
 * limits requests must not let in all of them because of a misspelt name.
 */
export function referencedMatches(
  context: QueryContext<CatalogState>,
  namespace: string,
  references: References,
  problems: ProblemList,
): ReferencedMatches {
  if (references.length === 0) return { matches: [{}], origins: [] }
  const followed = new Set<string>()
  const found = references.map(({ apiGroup, kind, name }, index): readonly [RouteMatch, SourceRef][] => {
    // A group that is named twice counts once.
    const reference = `${apiGroup} ${kind} ${name}`
    if (followed.has(reference)) return []
    followed.add(reference)
    const field = `spec.matches[${index}]`
    if (kind !== 'HTTPRouteGroup' || apiGroup.split('/')[0] !== GROUP) {
      const message = `must be HTTPRouteGroup of ${GROUP}, not ${kind} of ${apiGroup}; it lets no request through`
      problems.error('OSM_SPEC_ROUTE', `${field}.kind`, message)
      return []
    }
    const group = context.get(routeGroup, { namespace, name })
    if (group === undefined) {
      const message = `there is no HTTPRouteGroup ${nameKey({ namespace, name })}; it lets no request through`
      problems.error('OSM_SPEC_ROUTE', `${field}.name`, message)
      return []
    }
    const object = objectRefOf('HTTPRouteGroup', { namespace, name })
    return group.matches.map((match) => [match.match, { object, field: match.field }])
  })
  const all = found.flat()
  return { matches: unionOfMatches([all.map(([match]) => match)]), origins: all.map(([, origin]) => origin) }
}

/** All matches of the lists, each once, sorted by canonical JSON; one that holds for every request stands for all. */
export function unionOfMatches(lists: readonly (readonly RouteMatch[])[]): readonly RouteMatch[] {
  const byText = new Map(lists.flat().map((match) => [canonicalJson(match), match]))
  const everything = byText.get('{}')
  if (everything !== undefined) return [everything]
  return [...byText].sort(([a], [b]) => compareText(a, b)).map(([, match]) => match)
}
