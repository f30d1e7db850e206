import type { MeshService } from '@osm-ts/driver-api'

import type { KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, objectInputs } from '../../inputs/inputs.js'
import { apexOf } from '../../inputs/references.js'
import { combinationsInAll, objectCombinations, reportTooMany } from '../problems/combinations.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { routeGroup, type NamedMatch } from './route-groups.js'
import { serviceModel } from '../upstreams/services.js'

/** A backend of a TrafficSplit. */
export interface SplitBackend {
  readonly service: MeshService
  readonly weight: number
  /** Path of the backend inside the split. */
  readonly field: string
}

/** A match that limits a split, with where it is written down. */
export interface SplitMatch extends NamedMatch {
  readonly origin: SourceRef
}

/** A TrafficSplit with all its references followed. */
export interface SplitPlan {
  readonly split: NamespacedName
  readonly backends: readonly SplitBackend[]
  /** Requests that the split applies to; undefined stands for all, an empty list for none. */
  readonly matches: readonly SplitMatch[] | undefined
}

interface SplitAnalysis extends SplitPlan {
  readonly apex: MeshService | undefined
  readonly problems: readonly PolicyProblem[]
}

/** What a TrafficSplit says; undefined if there is none of that name. */
export const splitAnalysis = defineQuery<CatalogState, NamespacedName, SplitAnalysis | undefined>({
  name: 'split-analysis',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const split = context.get(objectInputs.TrafficSplit, key)
    if (split === undefined) return undefined
    const problems = new ProblemList(objectRefOf('TrafficSplit', key))
    const apex = usableApex(context, split, problems)
    const matches = splitMatches(context, split, problems)
    const all = combinationsOf(context, apex, { backends: split.spec.backends, matches })
    const backends = isTooLarge(all, problems) ? [] : usableBackends(context, split, problems)
    return { split: key, apex, backends, matches, problems: problems.items }
  },
})

/** Splits of one apex. */
export interface ApexSplits {
  /** In the order in which they apply. */
  readonly plans: readonly SplitPlan[]
  readonly problems: readonly PolicyProblem[]
}

/**
 * Splits of an apex in the order in which they apply: those with matches by name, then one without. Of several without matches the first by name holds.
 */
export const splitsOf = defineQuery<CatalogState, MeshService, ApexSplits>({
  name: 'splits-of-apex',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, apex) => {
    let pairs = 0
    const beyond: NamespacedName[] = []
    const plans = context.get(indexInputs.splitsByApex, nameKey(apex)).flatMap((name) => {
      const analysis = context.get(splitAnalysis, name)
      if (analysis?.apex === undefined || analysis.backends.length === 0) return []
      const { split, backends, matches } = analysis
      pairs += combinationsOf(context, apex, analysis)
      if (pairs > combinationsInAll.trafficSplit) {
        beyond.push(split)
        return []
      }
      return [{ split, backends, matches }]
    })
    const limited = plans.filter(({ matches }) => matches !== undefined)
    const [whole, ...surplus] = plans.filter(({ matches }) => matches === undefined)
    const problems = surplus.flatMap(({ split }) => {
      const list = new ProblemList(objectRefOf('TrafficSplit', split))
      const holder = whole === undefined ? '' : nameKey(whole.split)
      const message = `Service ${nameKey(apex)} is already split by TrafficSplit ${holder}, which takes precedence; add matches to one of them`
      list.error('OSM_SPEC_CONFLICT', 'spec.service', message)
      return list.items
    })
    const leftOut = beyond.flatMap((split) => {
      const list = new ProblemList(objectRefOf('TrafficSplit', split))
      const what = `is ignored: with those before it by name, Service ${nameKey(apex)} has more combinations of port, backend and match`
      reportTooMany(list, 'spec', what, combinationsInAll.trafficSplit, 'use fewer')
      return list.items
    })
    return { plans: whole === undefined ? limited : [...limited, whole], problems: [...problems, ...leftOut] }
  },
})

/** What a TrafficSplit adds to the policy of each caller: every backend for every match, at each port of the apex. */
function combinationsOf(
  context: QueryContext<CatalogState>,
  apex: MeshService | undefined,
  { backends, matches }: { readonly backends: readonly unknown[]; readonly matches: readonly unknown[] | undefined },
): number {
  const ports = apex === undefined ? 0 : (context.get(serviceModel, apex)?.ports.length ?? 0)
  return backends.length * Math.max(1, matches?.length ?? 0) * Math.max(1, ports)
}

/** True for a TrafficSplit that exceeds its limit and is ignored. */
function isTooLarge(combinations: number, problems: ProblemList): boolean {
  const limit = objectCombinations.trafficSplit
  if (combinations <= limit) return false
  reportTooMany(problems, 'spec', `has ${combinations} combinations of port, backend and match, and is ignored`, limit)
  return true
}

function usableApex(
  context: QueryContext<CatalogState>,
  split: KindMap['TrafficSplit'],
  problems: ProblemList,
): MeshService | undefined {
  const apex = apexOf(split)
  if (apex === undefined) {
    const message = `must name a service of namespace ${split.metadata.namespace}, that of the TrafficSplit, which is ignored`
    problems.error('OSM_SPEC_SPLIT_SERVICE', 'spec.service', message)
    return undefined
  }
  if (context.get(serviceModel, apex) !== undefined) return apex
  problems.error(
    'OSM_SPEC_SPLIT_SERVICE',
    'spec.service',
    `there is no Service ${nameKey(apex)}; the TrafficSplit is ignored`,
  )
  return undefined
}

function usableBackends(
  context: QueryContext<CatalogState>,
  split: KindMap['TrafficSplit'],
  problems: ProblemList,
): readonly SplitBackend[] {
  const { namespace } = split.metadata
  const backends: SplitBackend[] = []
  for (const [index, { service: name, weight }] of split.spec.backends.entries()) {
    const field = `spec.backends[${index}]`
    const service = { namespace, name }
    if (weight < 0)
      problems.error('OSM_SPEC_SPLIT_BACKENDS', `${field}.weight`, `must not be negative; the backend gets no traffic`)
    else if (context.get(objectInputs.Service, service) === undefined)
      problems.error(
        'OSM_SPEC_SPLIT_SERVICE',
        `${field}.service`,
        `there is no Service ${nameKey(service)}; its share goes to the others`,
      )
    // One without a selector may get its endpoints from a provider at any moment.
    else if (context.get(serviceModel, service) === undefined)
      problems.warning(
        'OSM_SPEC_SPLIT_SERVICE',
        `${field}.service`,
        `nothing of the mesh is behind Service ${nameKey(service)}; its share goes to the others`,
      )
    else backends.push({ service, weight, field })
  }
  if (split.spec.backends.length === 0)
    problems.error('OSM_SPEC_SPLIT_BACKENDS', 'spec.backends', 'is empty; the TrafficSplit is ignored')
  return backends
}

function splitMatches(
  context: QueryContext<CatalogState>,
  split: KindMap['TrafficSplit'],
  problems: ProblemList,
): readonly SplitMatch[] | undefined {
  const references = split.spec.matches ?? []
  if (references.length === 0) return undefined
  // A reference that leads nowhere must not widen the split to all requests, so the result is a list in any case.
  const followed = new Set<string>()
  return references.flatMap(({ name }, index) => {
    // A group that is named twice counts once.
    if (followed.has(name)) return []
    followed.add(name)
    const key = { namespace: split.metadata.namespace, name }
    const group = context.get(routeGroup, key)
    if (group === undefined)
      problems.error('OSM_SPEC_ROUTE', `spec.matches[${index}].name`, `there is no HTTPRouteGroup ${nameKey(key)}`)
    return (group?.matches ?? []).map((match) => ({
      ...match,
      origin: { object: objectRefOf('HTTPRouteGroup', key), field: match.field },
    }))
  })
}
