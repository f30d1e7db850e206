import type { ServiceAccountRef } from '@osm-ts/driver-api'

import type { MeshDomains } from '../../../identity/index.js'
import { isEffectiveTrafficTarget, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, sameItems, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, objectInputs, settingInputs } from '../../inputs/inputs.js'
import { destinationOf, sourcesOf } from '../../inputs/references.js'
import { canHoldCertificate, isAccountName } from './accounts.js'
import { combinationsInAll, reportTooMany } from '../problems/combinations.js'
import { nameKey, sameName, uniqueNames, type NamespacedName } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { targetRules, type Grant } from './target-rules.js'

/** What a TrafficTarget allows. */
export interface TargetGrants {
  readonly target: NamespacedName
  readonly sources: readonly ServiceAccountRef[]
  readonly grants: readonly Grant[]
}

export interface TargetAnalysis extends TargetGrants {
  readonly destination: ServiceAccountRef
  /** False: the object as a whole allows nothing. */
  readonly effective: boolean
  readonly problems: readonly PolicyProblem[]
}

type Context = QueryContext<CatalogState>

/** What a TrafficTarget says, with all its references followed; undefined if there is none of that name. */
export const targetAnalysis = defineQuery<CatalogState, NamespacedName, TargetAnalysis | undefined>({
  name: 'target-analysis',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const target = context.get(objectInputs.TrafficTarget, key)
    return target && analyse(context, target)
  },
})

/** Everything that TrafficTargets allow towards workloads of an account. */
export const grantsTo = defineQuery<CatalogState, ServiceAccountRef, readonly TargetGrants[]>({
  name: 'grants-to-account',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => targetsTo(context, account).kept,
})

/** TrafficTargets that exceed the limit of the account, together with the TrafficTargets before them by name. They allow nothing. */
const targetsBeyond = defineQuery<CatalogState, ServiceAccountRef, readonly NamespacedName[]>({
  name: 'targets-beyond',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => targetsTo(context, account).beyond,
})

function targetsTo(
  context: Context,
  account: ServiceAccountRef,
): { readonly kept: readonly TargetGrants[]; readonly beyond: readonly NamespacedName[] } {
  const kept: TargetGrants[] = []
  const beyond: NamespacedName[] = []
  let pairs = 0
  for (const name of context.get(indexInputs.targetsByDestination, nameKey(account))) {
    const analysis = context.get(targetAnalysis, name)
    if (analysis?.effective !== true) continue
    const { target, sources, grants } = analysis
    pairs += sources.length * grants.length
    if (pairs > combinationsInAll.trafficTarget) beyond.push(target)
    else kept.push({ target, sources, grants })
  }
  return { kept, beyond }
}

/** Problems of a TrafficTarget, alone and in combination with others. */
export const targetProblems = defineQuery<CatalogState, NamespacedName, readonly PolicyProblem[]>({
  name: 'target-problems',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const analysis = context.get(targetAnalysis, key)
    if (analysis === undefined) return []
    if (!context.get(targetsBeyond, analysis.destination).some((name) => sameName(name, key))) return analysis.problems
    const list = new ProblemList(objectRefOf('TrafficTarget', key))
    const what = `is ignored: with those before it by name, service account ${nameKey(analysis.destination)} has more combinations of source and route`
    reportTooMany(list, 'spec', what, combinationsInAll.trafficTarget, 'allow fewer')
    return [...analysis.problems, ...list.items]
  },
})

/** Accounts that some TrafficTarget lets an account reach; sorted. */
export const destinationsFrom = defineQuery<CatalogState, ServiceAccountRef, readonly ServiceAccountRef[]>({
  name: 'destinations-from-account',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => {
    const own = nameKey(account)
    const opened = context.get(indexInputs.targetsBySource, own).map((name) => context.get(openingTarget, name))
    return uniqueNames(opened.flatMap((target) => (target?.sources.has(own) === true ? [target.destination] : [])))
  },
})

/** Whom a TrafficTarget lets in. */
interface OpeningTarget {
  readonly destination: ServiceAccountRef
  /** Text forms of accounts. */
  readonly sources: ReadonlySet<string>
}

/**
 * Whom a TrafficTarget lets in, and where; undefined if it allows nothing. Each of its sources looks for itself in it: a list would take time for each pair
 * of them. What it allows them is not in here, so that they need not look again when that changes.
 */
const openingTarget = defineQuery<CatalogState, NamespacedName, OpeningTarget | undefined>({
  name: 'opening-target',
  keyOf: nameKey,
  equal: (a, b) =>
    a === b ||
    (a !== undefined &&
      b !== undefined &&
      sameName(a.destination, b.destination) &&
      sameItems([...a.sources], [...b.sources])),
  compute: (context, name) => {
    const analysis = context.get(targetAnalysis, name)
    if (analysis?.effective !== true) return undefined
    return { destination: analysis.destination, sources: new Set(analysis.sources.map(nameKey)) }
  },
})

function analyse(context: Context, target: KindMap['TrafficTarget']): TargetAnalysis {
  const { namespace, name } = target.metadata
  const domains = context.get(settingInputs.domains, '')
  const problems = new ProblemList(objectRefOf('TrafficTarget', target.metadata))
  const destination = destinationOf(target)
  const sources = usableSources(target, domains, problems)
  const grants = targetRules(context, target, problems)
  const usable = destinationUsable(target, domains, problems)
  if (target.spec.rules.length === 0)
    problems.error(
      'OSM_SPEC_TARGET_RULES',
      'spec.rules',
      'is empty, so the TrafficTarget allows nothing; name at least one route',
    )
  return {
    target: { namespace, name },
    destination,
    sources,
    grants,
    effective: usable && isEffectiveTrafficTarget(target) && sources.length > 0 && grants.length > 0,
    problems: problems.items,
  }
}

function destinationUsable(target: KindMap['TrafficTarget'], domains: MeshDomains, problems: ProblemList): boolean {
  const { destination } = target.spec
  const account = destinationOf(target)
  if (destination.kind !== 'ServiceAccount') {
    problems.error('OSM_SPEC_ACCOUNT', 'spec.destination.kind', `must be ServiceAccount, not ${destination.kind}`)
    return false
  }
  if (account.namespace !== target.metadata.namespace) {
    // Otherwise anyone who may write in one namespace could open the workloads of another.
    const message = `must be ${target.metadata.namespace}, the namespace of the TrafficTarget, which is ignored`
    problems.error('OSM_SPEC_TARGET_NAMESPACE', 'spec.destination.namespace', message)
    return false
  }
  return accountUsable(account, 'spec.destination', domains, problems)
}

function usableSources(
  target: KindMap['TrafficTarget'],
  domains: MeshDomains,
  problems: ProblemList,
): readonly ServiceAccountRef[] {
  const accounts = sourcesOf(target)
  if (accounts.length === 0)
    problems.error(
      'OSM_SPEC_TARGET_RULES',
      'spec.sources',
      'is empty, so the TrafficTarget allows nothing; name at least one source',
    )
  const usable = accounts.filter((account, index) => {
    const field = `spec.sources[${index}]`
    const kind = target.spec.sources[index]?.kind
    if (kind === 'ServiceAccount') return accountUsable(account, field, domains, problems)
    problems.error('OSM_SPEC_ACCOUNT', `${field}.kind`, `must be ServiceAccount, not ${String(kind)}`)
    return false
  })
  return uniqueNames(usable)
}

/** False for accounts that can have no certificate: no peer could ever prove to be one, or another could pass for it. */
function accountUsable(
  account: ServiceAccountRef,
  field: string,
  domains: MeshDomains,
  problems: ProblemList,
): boolean {
  if (!isAccountName(account)) {
    problems.error(
      'OSM_POLICY_ACCOUNT',
      `${field}.name`,
      `${nameKey(account)} is not a valid name of a service account`,
    )
    return false
  }
  if (canHoldCertificate(account, domains)) return true
  const message = `the identity of service account ${nameKey(account)} reads like the name of a service, so it gets no certificate; rename the account`
  problems.error('OSM_POLICY_ACCOUNT', `${field}.name`, message)
  return false
}
