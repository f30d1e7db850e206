import type { ServiceAccountRef } from '@osm-ts/driver-api'

import { destinationNamespace, isEffectiveTrafficTarget, type KindMap } from '../../spec/index.js'
import type { PolicyComputation } from '../policy-computation.js'
import { targetAnalysis, targetProblems } from '../policy/access/grants.js'
import type { Grant } from '../policy/access/target-rules.js'
import { nameKey, sameName } from '../policy/parts/keys.js'
import { routeGroup, type RouteGroup } from '../policy/routing/route-groups.js'
import { unmetConditions, type MatchableRequest } from './match-route.js'

type Target = KindMap['TrafficTarget']

/** A request that the policy of the called workload does not let in. */
export interface DeniedRequest {
  readonly from: ServiceAccountRef
  readonly to: ServiceAccountRef
  /** True: requests over the port can be seen one by one. */
  readonly http: boolean
  readonly targetPort: number
  readonly request: MatchableRequest
}

/** How near a TrafficTarget came to allowing a request; higher is nearer. */
interface NearMiss {
  readonly nearness: number
  readonly reason: string
}

const REASONS_SHOWN = 5

/** Why a policy does not let a request in: what the TrafficTargets that it is made of allow instead, the nearest first. Decides nothing. */
export function explainDenial(computation: PolicyComputation, denied: DeniedRequest): readonly string[] {
  const { to } = denied
  const targets = computation.snapshot
    .byNamespace('TrafficTarget', to.namespace)
    .filter(({ spec }) => spec.destination.name === to.name)
  const misses = targets.flatMap((target) => missesOf(computation, target, denied))
  const reasons = misses.toSorted((a, b) => b.nearness - a.nearness).map(({ reason }) => reason)
  const nothing = `no TrafficTarget names service account ${nameKey(to)} as its destination`
  return reasons.length === 0 ? [nothing] : [...new Set(reasons)].slice(0, REASONS_SHOWN)
}

function missesOf(computation: PolicyComputation, target: Target, denied: DeniedRequest): readonly NearMiss[] {
  const name = `TrafficTarget ${nameKey(target.metadata)}`
  const whole = (nearness: number, reason: string): readonly NearMiss[] => [{ nearness, reason: `${name} ${reason}` }]
  if (!isEffectiveTrafficTarget(target)) {
    const namespace = destinationNamespace(target)
    const isMisplaced = namespace !== target.metadata.namespace
    return whole(0, isMisplaced ? `is ignored: it must be in namespace ${namespace}` : 'is ignored: it is invalid')
  }
  const analysis = computation.read(targetAnalysis, target.metadata)
  if (analysis?.sources.some((source) => sameName(source, denied.from)) !== true)
    return whole(1, `does not name ${nameKey(denied.from)} as a source`)
  const found = analysis.grants.map((grant) => missOf(computation, grant, denied))
  // What a rule could not grant at all: its route is missing or cannot be used.
  const problems = [
    ...(computation.read(targetProblems, target.metadata) ?? []).flatMap(({ field = '', message }) => {
      const [rule] = /^spec(?:\.rules\[\d+\])?(?=\.(?:name|matches)|$)/.exec(field) ?? []
      return rule === undefined ? [] : [{ nearness: 2, reason: `${rule}: ${message}` }]
    }),
    ...target.spec.rules.flatMap((rule, index) => unusableMatches(computation, target, rule, `spec.rules[${index}]`)),
  ]
  return [...found, ...problems].map(({ nearness, reason }) => ({ nearness, reason: `${name}, ${reason}` }))
}

function missOf(computation: PolicyComputation, grant: Grant, denied: DeniedRequest): NearMiss {
  const { targetPort, http, request } = denied
  const [rule, route] = grant.origins
  const missed = (nearness: number, reason: string): NearMiss => ({
    nearness,
    reason: `${rule?.field ?? 'spec.rules'}: ${reason}`,
  })
  if (grant.ports?.length === 0) return missed(2, 'applies to no port')
  if (grant.ports?.includes(targetPort) === false)
    return missed(2, `is for port ${grant.ports.join(', ')} of the workload, not ${targetPort}`)
  if (grant.kind === 'tcp')
    return missed(
      2,
      'a TCPRoute beside an HTTPRouteGroup limits ports; the HTTPRouteGroup decides which requests are allowed there',
    )
  if (!http) return missed(2, 'an HTTPRouteGroup opens no port that does not speak HTTP; use a TCPRoute')
  const unmet = unmetConditions(grant.match, request)
  const group = route && computation.read(routeGroup, route.object)
  const match = group?.matches.find(({ field }) => field === route?.field)?.name ?? ''
  return missed(3 + 1 / Math.max(unmet.length, 1), `match ${match}: ${unmet.join(', ')}`)
}

function unusableMatches(
  computation: PolicyComputation,
  target: Target,
  rule: Target['spec']['rules'][number],
  field: string,
): readonly NearMiss[] {
  if (rule.kind !== 'HTTPRouteGroup') return []
  const group = computation.read(routeGroup, { namespace: target.metadata.namespace, name: rule.name })
  const wanted = rule.matches ?? []
  return (group === undefined ? [] : unusableNames(group))
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .map(({ name, fault }) => ({ nearness: 3, reason: `${field}: match ${name}: ${fault}` }))
}

/** Matches that hold for no request, each with its first fault. */
function unusableNames({
  names,
  matches,
  problems,
}: RouteGroup): readonly { readonly name: string; readonly fault: string }[] {
  const usable = new Set(matches.map(({ name }) => name))
  return names.flatMap((name, index) => {
    if (names.indexOf(name) < index) return []
    const fault = problems.find(({ field = '' }) => field.startsWith(`spec.matches[${index}].`))
    return usable.has(name) || fault === undefined ? [] : [{ name, fault: fault.message }]
  })
}
