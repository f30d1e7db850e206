import type { RouteMatch, ServiceAccountRef } from '@osm-ts/driver-api'

import type { MeshDomains } from '../../identity/index.js'
import { isEffectiveTrafficTarget, type KindMap } from '../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { indexInputs, objectInputs, settingInputs } from '../inputs/inputs.js'
import { destinationOf, sourcesOf } from '../inputs/references.js'
import { canHoldCertificate, isAccountName } from './accounts.js'
import { nameKey, uniqueNames, type NamespacedName } from './keys.js'
import type { SourceRef } from './policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from './problems.js'
import { routeGroup } from './route-groups.js'

/** What one rule of a TrafficTarget allows its sources. */
export type Grant =
  /** HTTP requests that match. */
  | {
      readonly kind: 'http'
      readonly match: RouteMatch
      readonly matchName: string
      readonly origins: readonly SourceRef[]
    }
  /** Connections, whatever is said over them. */
  | { readonly kind: 'tcp'; readonly origins: readonly SourceRef[] }

/** What a TrafficTarget allows. */
export interface TargetGrants {
  readonly target: NamespacedName
  readonly sources: readonly ServiceAccountRef[]
  readonly grants: readonly (Grant & PortLimit)[]
}

interface PortLimit {
  /** Ports of the workload that the grant is limited to; absent means all. */
  readonly ports?: readonly number[]
}

interface TargetAnalysis extends TargetGrants {
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
  compute: (context, account) =>
    context.get(indexInputs.targetsByDestination, nameKey(account)).flatMap((name) => {
      const analysis = context.get(targetAnalysis, name)
      if (analysis?.effective !== true) return []
      const { target, sources, grants } = analysis
      return [{ target, sources, grants }]
    }),
})

/** Accounts that some TrafficTarget lets an account reach; sorted. */
export const destinationsFrom = defineQuery<CatalogState, ServiceAccountRef, readonly ServiceAccountRef[]>({
  name: 'destinations-from-account',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, account) => {
    const analyses = context
      .get(indexInputs.targetsBySource, nameKey(account))
      .map((name) => context.get(targetAnalysis, name))
    return uniqueNames(
      analyses.flatMap((analysis) =>
        analysis?.effective === true && analysis.sources.some((source) => nameKey(source) === nameKey(account))
          ? [analysis.destination]
          : [],
      ),
    )
  },
})

function analyse(context: Context, target: KindMap['TrafficTarget']): TargetAnalysis {
  const { namespace, name } = target.metadata
  const domains = context.get(settingInputs.domains, '')
  const problems = new ProblemList(objectRefOf('TrafficTarget', target.metadata))
  const destination = destinationOf(target)
  const sources = usableSources(target, domains, problems)
  const grants = target.spec.rules.flatMap((rule, index) => ruleGrants(context, { target, rule, index, problems }))
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
    // Otherwise whoever may write in one namespace could open the workloads of another.
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
      `${nameKey(account)} is no name that a service account can have`,
    )
    return false
  }
  if (canHoldCertificate(account, domains)) return true
  const message = `the identity of service account ${nameKey(account)} reads like the name of a service, so it gets no certificate; rename the account`
  problems.error('OSM_POLICY_ACCOUNT', `${field}.name`, message)
  return false
}

interface RuleContext {
  readonly target: KindMap['TrafficTarget']
  readonly rule: KindMap['TrafficTarget']['spec']['rules'][number]
  readonly index: number
  readonly problems: ProblemList
}

function ruleGrants(context: Context, at: RuleContext): readonly (Grant & PortLimit)[] {
  const field = `spec.rules[${at.index}]`
  const origin: SourceRef = { object: objectRefOf('TrafficTarget', at.target.metadata), field }
  const limit = portLimit(at.target)
  switch (at.rule.kind) {
    case 'HTTPRouteGroup':
      return httpGrants(context, at, field, origin).map((grant) => ({ ...grant, ...limit }))
    case 'TCPRoute':
      return tcpGrants(context, at, field, origin)
    default: {
      // As in OSM, a TrafficTarget with a rule of a kind that nobody knows counts as a whole for nothing.
      const message = `must be HTTPRouteGroup or TCPRoute, not ${at.rule.kind}; the TrafficTarget is ignored`
      at.problems.error('OSM_SPEC_ROUTE', `${field}.kind`, message)
      return []
    }
  }
}

/** Only old versions of TrafficTarget carry a port. */
function portLimit(target: KindMap['TrafficTarget']): PortLimit {
  const { port } = target.spec.destination
  return port === undefined ? {} : { ports: [port] }
}

function httpGrants(
  context: Context,
  { target, rule, problems }: RuleContext,
  field: string,
  origin: SourceRef,
): readonly Grant[] {
  const name = { namespace: target.metadata.namespace, name: rule.name }
  const group = context.get(routeGroup, name)
  if (group === undefined) {
    problems.error(
      'OSM_SPEC_ROUTE',
      `${field}.name`,
      `there is no HTTPRouteGroup ${nameKey(name)}; the rule allows nothing`,
    )
    return []
  }
  // No names, or an empty list of them, stand for all matches of the group, as the SMI text has it.
  const wanted = rule.matches ?? []
  for (const [index, match] of wanted.entries())
    if (!group.names.includes(match))
      problems.error(
        'OSM_SPEC_ROUTE',
        `${field}.matches[${index}]`,
        `HTTPRouteGroup ${nameKey(name)} has no match ${match}`,
      )
  return group.matches
    .filter((match) => wanted.length === 0 || wanted.includes(match.name))
    .map((match) => ({
      kind: 'http',
      match: match.match,
      matchName: match.name,
      origins: [origin, { object: objectRefOf('HTTPRouteGroup', name), field: match.field }],
    }))
}

function tcpGrants(
  context: Context,
  { target, rule, problems }: RuleContext,
  field: string,
  origin: SourceRef,
): readonly (Grant & PortLimit)[] {
  const name = { namespace: target.metadata.namespace, name: rule.name }
  const route = context.get(objectInputs.TCPRoute, name)
  if (route === undefined) {
    problems.error('OSM_SPEC_ROUTE', `${field}.name`, `there is no TCPRoute ${nameKey(name)}; the rule allows nothing`)
    return []
  }
  const own = portLimit(target).ports
  const listed = route.spec.matches?.ports ?? []
  const origins = [origin, { object: objectRefOf('TCPRoute', name) }]
  if (listed.length === 0) return [{ kind: 'tcp', origins, ...portLimit(target) }]
  const ports = listed.filter((port) => own === undefined || own.includes(port))
  return [{ kind: 'tcp', origins, ports: [...new Set(ports)].sort((a, b) => a - b) }]
}
