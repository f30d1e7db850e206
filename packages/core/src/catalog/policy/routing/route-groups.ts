import type { RouteMatch } from '@osm-ts/driver-api/policy'

import { deepEqual, defineQuery } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { translateMatch } from './route-match.js'

/** A usable match of an HTTPRouteGroup. */
export interface NamedMatch {
  readonly name: string
  readonly match: RouteMatch
  /** Path of the match inside the object. */
  readonly field: string
}

/** An HTTPRouteGroup in the terms of the policy. */
export interface RouteGroup {
  /** In the order of the object; unusable matches are left out. */
  readonly matches: readonly NamedMatch[]
  /** Names of all matches, unusable ones included. */
  readonly names: readonly string[]
  readonly problems: readonly PolicyProblem[]
}

/** The HTTPRouteGroup of that name, or undefined. */
export const routeGroup = defineQuery<CatalogState, NamespacedName, RouteGroup | undefined>({
  name: 'route-group',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const group = context.get(objectInputs.HTTPRouteGroup, key)
    if (group === undefined) return undefined
    const problems = new ProblemList(objectRefOf('HTTPRouteGroup', key))
    const matches: NamedMatch[] = []
    const taken = new Set<string>()
    for (const [index, source] of group.spec.matches.entries()) {
      const field = `spec.matches[${index}]`
      // A match that can't be used holds its name all the same: what comes after it must not slip into its place.
      if (taken.has(source.name)) {
        problems.error(
          'OSM_SPEC_CONFLICT',
          `${field}.name`,
          `an earlier match already has the name ${source.name} and takes precedence`,
        )
        continue
      }
      taken.add(source.name)
      const translated = translateMatch(source)
      if (translated.ok) matches.push({ name: source.name, match: translated.match, field })
      else
        for (const fault of translated.faults)
          problems.error(fault.code, `${field}.${fault.field}`, `${fault.message}; the match applies to no request`)
    }
    return { matches, names: group.spec.matches.map(({ name }) => name), problems: problems.items }
  },
})
