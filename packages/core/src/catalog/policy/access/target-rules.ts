import { canonicalJson, type RouteMatch } from '@osm-ts/driver-api/policy'

import type { KindMap } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { objectCombinations, reportTooMany } from '../problems/combinations.js'
import { nameKey } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, type ProblemList } from '../problems/problems.js'
import { routeGroup } from '../routing/route-groups.js'

/** What rules of a TrafficTarget allow its sources. */
export type Grant = PortLimit &
  /** HTTP requests that match. */
  (
    | { readonly kind: 'http'; readonly match: RouteMatch; readonly origins: readonly SourceRef[] }
    /** Connections; on ports that speak HTTP, with `everyRequest`, all requests as well. */
    | { readonly kind: 'tcp'; readonly everyRequest: boolean; readonly origins: readonly SourceRef[] }
  )

interface PortLimit {
  /** Ports of the workload that the grant is limited to; undefined means all. */
  readonly ports: readonly number[] | undefined
}

interface HttpRule {
  readonly match: RouteMatch
  readonly origins: readonly SourceRef[]
}

interface TcpRule extends PortLimit {
  readonly origins: readonly SourceRef[]
}

type Context = QueryContext<CatalogState>
type Target = KindMap['TrafficTarget']

/**
 * What the rules of a TrafficTarget allow together.
 *
 * Rules of one kind add up. Where both kinds stand side by side, the TCPRoutes say on which ports and the HTTPRouteGroups which requests, as the examples
 * of the SMI text have it. A TCPRoute that does not exist names no port, so that it can't widen what it was to narrow.
 */
export function targetRules(context: Context, target: Target, problems: ProblemList): readonly Grant[] {
  const at = distinctRules(target).map(([rule, index]) => ({ target, rule, field: `spec.rules[${index}]`, problems }))
  const http = at.flatMap((rule) => (rule.rule.kind === 'HTTPRouteGroup' ? httpRules(context, rule) : []))
  const tcp = at.flatMap((rule) => (rule.rule.kind === 'TCPRoute' ? tcpRules(context, rule) : []))
  for (const { rule, field } of at)
    if (rule.kind !== 'HTTPRouteGroup' && rule.kind !== 'TCPRoute') {
      // As in OSM, a TrafficTarget with a rule of a kind that is unknown counts as a whole for nothing.
      const message = `must be HTTPRouteGroup or TCPRoute, not ${rule.kind}; the TrafficTarget is ignored`
      problems.error('OSM_SPEC_ROUTE', `${field}.kind`, message)
    }
  const has = (kind: string): boolean => target.spec.rules.some((rule) => rule.kind === kind)
  const own = target.spec.destination.port === undefined ? undefined : [target.spec.destination.port]
  const named = has('TCPRoute') ? union(tcp.map(({ ports }) => ports)) : undefined
  const ports = intersection(named, own)
  const portOrigins = tcp.flatMap(({ origins }) => origins)
  const pairs = (http.length + tcp.length) * (target.spec.sources.length + tcp.length)
  if (pairs > objectCombinations.trafficTarget) {
    const what = `has ${pairs} combinations of source, route and port, and allows nothing`
    reportTooMany(problems, 'spec', what, objectCombinations.trafficTarget)
    return []
  }
  return [
    ...http.map(({ match, origins }): Grant => ({ kind: 'http', match, ports, origins: [...origins, ...portOrigins] })),
    ...tcp.map((rule): Grant => ({
      kind: 'tcp',
      everyRequest: !has('HTTPRouteGroup'),
      ports: intersection(rule.ports, own),
      origins: rule.origins,
    })),
  ]
}

/** Rules of a TrafficTarget, each with its index. A rule that is written down twice counts once. */
function distinctRules({ spec }: Target): readonly (readonly [Target['spec']['rules'][number], number])[] {
  const rules = new Map<string, readonly [Target['spec']['rules'][number], number]>()
  for (const [index, rule] of spec.rules.entries()) {
    const text = canonicalJson({ kind: rule.kind, name: rule.name, matches: rule.matches ?? [] })
    if (!rules.has(text)) rules.set(text, [rule, index])
  }
  return [...rules.values()]
}

/** Sorted; undefined, which stands for all ports, if one of the lists is. */
function union(lists: readonly (readonly number[] | undefined)[]): readonly number[] | undefined {
  const ports = new Set<number>()
  for (const list of lists) {
    if (list === undefined) return undefined
    for (const port of list) ports.add(port)
  }
  return [...ports].sort((a, b) => a - b)
}

function intersection(
  a: readonly number[] | undefined,
  b: readonly number[] | undefined,
): readonly number[] | undefined {
  if (a === undefined || b === undefined) return a ?? b
  const others = new Set(b)
  return a.filter((port) => others.has(port))
}

interface RuleContext {
  readonly target: Target
  readonly rule: Target['spec']['rules'][number]
  /** Path of the rule inside the object. */
  readonly field: string
  readonly problems: ProblemList
}

function httpRules(context: Context, { target, rule, field, problems }: RuleContext): readonly HttpRule[] {
  const name = { namespace: target.metadata.namespace, name: rule.name }
  const group = context.get(routeGroup, name)
  if (group === undefined) {
    const message = `there is no HTTPRouteGroup ${nameKey(name)}; the rule allows nothing`
    problems.error('OSM_SPEC_ROUTE', `${field}.name`, message)
    return []
  }
  // No names, or an empty list of them, stand for all matches of the group, as the SMI text has it.
  const wanted = rule.matches ?? []
  const names = new Set(wanted.length === 0 ? [] : group.names)
  for (const [index, match] of wanted.entries()) {
    const message = `HTTPRouteGroup ${nameKey(name)} has no match ${match}`
    if (!names.has(match)) problems.error('OSM_SPEC_ROUTE', `${field}.matches[${index}]`, message)
  }
  const chosen = new Set(wanted)
  return group.matches
    .filter((match) => wanted.length === 0 || chosen.has(match.name))
    .map((match) => ({
      match: match.match,
      origins: [originOf(target, field), { object: objectRefOf('HTTPRouteGroup', name), field: match.field }],
    }))
}

function tcpRules(context: Context, { target, rule, field, problems }: RuleContext): readonly TcpRule[] {
  const name = { namespace: target.metadata.namespace, name: rule.name }
  const route = context.get(objectInputs.TCPRoute, name)
  if (route === undefined) {
    problems.error('OSM_SPEC_ROUTE', `${field}.name`, `there is no TCPRoute ${nameKey(name)}; the rule allows nothing`)
    return []
  }
  const listed = route.spec.matches?.ports ?? []
  const ports = listed.length === 0 ? undefined : union([listed])
  return [{ ports, origins: [originOf(target, field), { object: objectRefOf('TCPRoute', name) }] }]
}

function originOf(target: Target, field: string): SourceRef {
  return { object: objectRefOf('TrafficTarget', target.metadata), field }
}
