import type { ServiceAccountRef } from '@osm-ts/driver-api'

import type { Snapshot } from '../../snapshot/index.js'
import { destinationNamespace, isEffectiveTrafficTarget, type KindMap } from '../../spec/index.js'
import { matchFault, namedMatches, unmetConditions, type MatchableRequest } from './match-request.js'

type Target = KindMap['TrafficTarget']
type Rule = Target['spec']['rules'][number]

/** A caller, the account it calls, and what it wants there. */
export interface Case {
  readonly snapshot: Snapshot
  readonly from: ServiceAccountRef
  readonly to: ServiceAccountRef
  /** True: requests over the port can be seen one by one. */
  readonly http: boolean
  readonly targetPort: number
  readonly request: MatchableRequest
}

/** What the TrafficTargets say of a case. */
export type Verdict =
  | { readonly allowed: true; readonly target: Target; readonly field: string; readonly match: string | undefined }
  | { readonly allowed: false; readonly reasons: readonly string[] }

/** How near a TrafficTarget came to allowing a case; higher is nearer. */
interface NearMiss {
  readonly nearness: number
  readonly reason: string
}

type RuleOutcome =
  | { readonly allowed: true; readonly match: string | undefined }
  | { readonly allowed: false; readonly misses: readonly NearMiss[] }

const REASONS_SHOWN = 5

/** Looks at all TrafficTargets towards the called account; the first rule that allows the case decides. */
export function judge(question: Case): Verdict {
  const { snapshot, to } = question
  const misses: NearMiss[] = []
  for (const target of snapshot.byNamespace('TrafficTarget', to.namespace)) {
    if (target.spec.destination.name !== to.name) continue
    const name = `TrafficTarget ${target.metadata.namespace}/${target.metadata.name}`
    const obstacle = obstacleOf(target, question)
    if (obstacle !== undefined) {
      misses.push({ ...obstacle, reason: `${name} ${obstacle.reason}` })
      continue
    }
    for (const [index, rule] of target.spec.rules.entries()) {
      const field = `spec.rules[${index}]`
      const outcome = ruleOutcome(question, target, rule)
      if (outcome.allowed) return { allowed: true, target, field, match: outcome.match }
      misses.push(...outcome.misses.map((miss) => ({ ...miss, reason: `${name}, ${field}: ${miss.reason}` })))
    }
  }
  const nearest = misses.toSorted((a, b) => b.nearness - a.nearness).map(({ reason }) => reason)
  const nothing = `no TrafficTarget names service account ${to.namespace}/${to.name} as its destination`
  return { allowed: false, reasons: nearest.length === 0 ? [nothing] : [...new Set(nearest)].slice(0, REASONS_SHOWN) }
}

/** Why a TrafficTarget as a whole does not concern a case. */
function obstacleOf(target: Target, { from }: Case): NearMiss | undefined {
  if (!isEffectiveTrafficTarget(target)) {
    const namespace = destinationNamespace(target)
    const misplaced = namespace !== target.metadata.namespace
    return {
      nearness: 0,
      reason: misplaced ? `is ignored: it must stand in namespace ${namespace}` : 'is ignored: it is not valid',
    }
  }
  const listed = target.spec.sources.some(
    ({ kind, name, namespace = target.metadata.namespace }) =>
      kind === 'ServiceAccount' && name === from.name && namespace === from.namespace,
  )
  return listed ? undefined : { nearness: 1, reason: `does not name ${from.namespace}/${from.name} as a source` }
}

function ruleOutcome(question: Case, target: Target, rule: Rule): RuleOutcome {
  const { port } = target.spec.destination
  if (port !== undefined && port !== question.targetPort)
    return missed(2, `is for port ${port} of the workload, not ${question.targetPort}`)
  const others = target.spec.rules.filter(({ kind }) => kind !== rule.kind)
  if (rule.kind === 'HTTPRouteGroup') {
    // TCPRoutes beside it say on which ports it holds.
    const ports = others.map((other) => tcpOutcome(question, target, other))
    const elsewhere = ports.length > 0 && !ports.some(({ allowed }) => allowed)
    return elsewhere ? (ports[0] ?? missed(2, 'holds on no port')) : httpOutcome(question, target, rule)
  }
  if (question.http && others.length > 0)
    return missed(
      2,
      'a TCPRoute beside an HTTPRouteGroup names ports; which requests are allowed there is for the HTTPRouteGroup to say',
    )
  return tcpOutcome(question, target, rule)
}

function tcpOutcome({ snapshot, targetPort }: Case, target: Target, rule: Rule): RuleOutcome {
  const route = snapshot.get('TCPRoute', target.metadata.namespace, rule.name)
  if (route === undefined) return missed(2, `there is no TCPRoute ${target.metadata.namespace}/${rule.name}`)
  const ports = route.spec.matches?.ports ?? []
  if (ports.length === 0 || ports.includes(targetPort)) return { allowed: true, match: undefined }
  return missed(2, `TCPRoute ${rule.name} is for ports ${ports.join(', ')} of the workload, not ${targetPort}`)
}

function httpOutcome({ snapshot, http, request }: Case, target: Target, rule: Rule): RuleOutcome {
  if (!http) return missed(2, 'an HTTPRouteGroup opens no port that does not speak HTTP; use a TCPRoute')
  const group = snapshot.get('HTTPRouteGroup', target.metadata.namespace, rule.name)
  if (group === undefined) return missed(2, `there is no HTTPRouteGroup ${target.metadata.namespace}/${rule.name}`)
  const wanted = rule.matches ?? []
  const considered = namedMatches(group).filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  const misses: NearMiss[] = []
  for (const match of considered) {
    const fault = matchFault(match)
    const unmet = fault === undefined ? unmetConditions(match, request) : [`it can't be used: ${fault}`]
    if (unmet.length === 0) return { allowed: true, match: match.name }
    misses.push({ nearness: 3 + 1 / unmet.length, reason: `match ${match.name}: ${unmet.join(', ')}` })
  }
  return misses.length === 0
    ? missed(2, `HTTPRouteGroup ${rule.name} has none of the matches`)
    : { allowed: false, misses }
}

function missed(nearness: number, reason: string): RuleOutcome {
  return { allowed: false, misses: [{ nearness, reason }] }
}
