import type { RetryPolicy } from '@osm-ts/driver-api/policy'

import type {
  GRPCRouteRule,
  HTTPBackendRef,
  HTTPRouteFilter,
  HTTPRouteRule,
  KindMap,
  RequestRouteKind,
} from '../../../spec/index.js'
import { deepEqual, defineQuery } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { sameName, type NamespacedName } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { grpcConditions } from './grpc-conditions.js'
import { routeConditions, type RoutedRequests } from './route-conditions.js'
import {
  backendFilters,
  grpcRuleFilters,
  httpRuleFilters,
  translateFilters,
  type FilterChanges,
  type FilterPlace,
} from './route-filters.js'
import {
  attachmentOf,
  backendPort,
  httpPorts,
  portFor,
  textCost,
  type RouteAttachment,
  type RoutedPort,
  type RouteReferences,
} from './route-references.js'
import { routeKey, type RouteRef } from './route-refs.js'
import { routeTimes } from './route-times.js'
import { RuleFaults } from './rule-faults.js'

type Route = KindMap[RequestRouteKind]

/** A share of the requests of a rule; undefined in place of a port stands for a backend that cannot be used. */
export interface RouteBackend {
  readonly port: RoutedPort | undefined
  readonly weight: number
  readonly changes: FilterChanges
}

/** Copies of the requests of a rule. */
export interface RouteCopies {
  readonly port: RoutedPort
  readonly perMillion: number
}

/** A rule of a route, with everything that it refers to looked up. */
export interface RouteRule {
  readonly index: number
  /** Requests of the rule, in the order of the object. Unusable matches are left out. */
  readonly matches: readonly (RoutedRequests & { readonly field: string })[]
  /** False: requests are answered with an error, because a part of the rule cannot be used. */
  readonly isUsable: boolean
  readonly changes: FilterChanges
  readonly backends: readonly RouteBackend[]
  readonly copies: readonly RouteCopies[]
  /** Of all attempts together; 0 means none. */
  readonly timeoutMs: number
  readonly retries: RetryPolicy | undefined
}

/** What a route of requests says. */
export interface RouteAnalysis extends RouteAttachment {
  readonly rules: readonly RouteRule[]
  readonly problems: readonly PolicyProblem[]
}

/** How sidecars answer requests that no backend is for. */
const answers: Readonly<Record<RequestRouteKind, string>> = {
  HTTPRoute: 'answered 500',
  GRPCRoute: 'answered with the status UNAVAILABLE',
}

/** What a route says; undefined if there is none of that name. */
export const routeAnalysis = defineQuery<CatalogState, RouteRef<RequestRouteKind>, RouteAnalysis | undefined>({
  name: 'gateway-route-analysis',
  keyOf: routeKey,
  equal: deepEqual,
  compute: (context, { kind, ...key }) => {
    const route: Route | undefined =
      kind === 'HTTPRoute' ? context.get(objectInputs.HTTPRoute, key) : context.get(objectInputs.GRPCRoute, key)
    if (route === undefined) return undefined
    const problems = new ProblemList(objectRefOf(kind, key))
    const references = { context, route, problems, fits: httpPorts }
    const unmatched = new RuleFaults(problems, 'the match applies to no request')
    const rules =
      route.kind === 'HTTPRoute'
        ? route.spec.rules.map((rule, index) => translateRule(references, index, httpRule(rule, index, unmatched)))
        : route.spec.rules.map((rule, index) => translateRule(references, index, grpcRule(rule, index, unmatched)))
    return { rules, ...attachmentOf(references, costOf(rules)), problems: problems.items }
  },
})

/** A rule in the form that the rules of all kinds have in common. */
interface ReadRule {
  readonly matches: RouteRule['matches']
  readonly filters: readonly HTTPRouteFilter[] | undefined
  readonly filterPlace: Omit<FilterPlace, 'field'>
  readonly times: Pick<HTTPRouteRule, 'timeouts' | 'retry'>
  readonly backendRefs: readonly HTTPBackendRef[] | undefined
}

function httpRule(rule: HTTPRouteRule, index: number, unmatched: RuleFaults): ReadRule {
  const { filters, backendRefs } = rule
  const matches = orEverything(rule.matches, {})
  return {
    matches: readMatches(matches, index, (match, field) => routeConditions(match, field, unmatched)),
    filters,
    filterPlace: { ...httpRuleFilters, matches },
    times: rule,
    backendRefs,
  }
}

function grpcRule(rule: GRPCRouteRule, index: number, unmatched: RuleFaults): ReadRule {
  const { filters, backendRefs } = rule
  return {
    matches: readMatches(orEverything(rule.matches, {}), index, (match, field) =>
      grpcConditions(match, field, unmatched),
    ),
    filters,
    filterPlace: grpcRuleFilters,
    times: {},
    backendRefs,
  }
}

/** A rule without matches is for all requests. */
function orEverything<M>(matches: readonly M[] | undefined, everything: M): readonly M[] {
  return matches === undefined || matches.length === 0 ? [everything] : matches
}

function readMatches<M>(
  matches: readonly M[],
  index: number,
  read: (match: M, field: string) => RoutedRequests | undefined,
): RouteRule['matches'] {
  return matches.flatMap((source, place) => {
    const field = `spec.rules[${index}].matches[${place}]`
    const requests = read(source, field)
    return requests === undefined ? [] : [{ ...requests, field }]
  })
}

function translateRule(references: RouteReferences<RequestRouteKind>, index: number, rule: ReadRule): RouteRule {
  const { route, problems } = references
  const answered = answers[route.kind]
  const field = `spec.rules[${index}]`
  const faults = new RuleFaults(problems, `requests of the rule are ${answered}`)
  const { changes, mirrors } = translateFilters(
    rule.filters,
    { ...rule.filterPlace, field: `${field}.filters` },
    faults,
  )
  const times = routeTimes(rule.times, field, faults)
  const copies = mirrors.flatMap(({ mirror, field: at }): readonly RouteCopies[] => {
    const port = backendPort(references, mirror.backendRef, `${at}.backendRef`, 'nothing is copied')
    const perMillion = shareOf(mirror)
    return port === undefined || perMillion === 0 ? [] : [{ port, perMillion }]
  })
  const backends = (rule.backendRefs ?? []).map((backend, place): RouteBackend => {
    const at = `${field}.backendRefs[${place}]`
    const effect = `its share is ${answered}`
    const own = new RuleFaults(problems, effect)
    const { changes: ownChanges } = translateFilters(
      backend.filters,
      { ...backendFilters, field: `${at}.filters` },
      own,
    )
    const port = backendPort(references, backend, at, effect)
    return { port: own.count > 0 ? undefined : port, weight: backend.weight, changes: ownChanges }
  })
  if (changes.redirect !== undefined && backends.length > 0)
    faults.add('OSM_SPEC_ROUTE_FILTERS', `${field}.backendRefs`, 'a redirect cannot be used together with backends')
  return { index, matches: rule.matches, isUsable: faults.count === 0, changes, backends, copies, ...times }
}

function shareOf({
  percent,
  fraction,
}: Pick<NonNullable<NonNullable<HTTPRouteRule['filters']>[number]['requestMirror']>, 'percent' | 'fraction'>): number {
  if (fraction !== undefined)
    return Math.min(1_000_000, Math.round((fraction.numerator / fraction.denominator) * 1_000_000))
  return (percent ?? 100) * 10_000
}

/** A sidecar gets each match of a rule with all that the rule does. */
function costOf(rules: readonly RouteRule[]): number {
  let sum = 0
  for (const { matches, changes, backends, copies } of rules) {
    const shares = backends.map((backend) => 1 + textCost(backend.changes)).reduce((a, b) => a + b, copies.length)
    const each = Math.max(1, shares) + textCost(changes)
    for (const { match } of matches) sum += each + textCost(match)
  }
  return sum
}

/** True if a service gets requests or copies of some callers from a route; see {@link portFor}. */
export function leadsTo({ rules }: RouteAnalysis, service: NamespacedName, readers: string | undefined): boolean {
  return rules.some(({ backends, copies }) =>
    [...backends, ...copies].some(({ port }) => {
      const found = portFor(port, readers)
      return found !== undefined && sameName(found, service)
    }),
  )
}
