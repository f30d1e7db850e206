import type { RetryPolicy } from '@osm-ts/driver-api/policy'

import {
  refusedReference,
  type GatewayRouteKind,
  type GRPCRouteRule,
  type HTTPBackendRef,
  type HTTPRouteFilter,
  type HTTPRouteRule,
  type KindMap,
} from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { isService } from '../../inputs/references.js'
import { mayConcern } from '../access/consent.js'
import { nameKey, sameName, servicePortKey, type NamespacedName, type ServicePortRef } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { serviceModel } from '../upstreams/services.js'
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
import { routeKey, type RouteRef } from './route-refs.js'
import { routeTimes } from './route-times.js'
import { RuleFaults } from './rule-faults.js'

type Context = QueryContext<CatalogState>
type Route = KindMap[GatewayRouteKind]

/** A share of the requests of a rule; undefined in place of a port stands for a backend that cannot be used. */
export interface RouteBackend {
  readonly port: ServicePortRef | undefined
  readonly weight: number
  readonly changes: FilterChanges
}

/** Copies of the requests of a rule. */
export interface RouteCopies {
  readonly port: ServicePortRef
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

/** A Service that a route is attached to. */
export interface RouteParent {
  /** Path of the reference in the route. */
  readonly field: string
  /** Ports that the route applies to. */
  readonly ports: readonly ServicePortRef[]
}

/** What a route of the Gateway API says. */
export interface RouteAnalysis {
  readonly rules: readonly RouteRule[]
  /** Ports of services that the route is attached to. Those of other namespaces are for callers of the namespace of the route alone. */
  readonly ports: readonly ServicePortRef[]
  /** The same by parent, in the order of the object. */
  readonly parents: readonly RouteParent[]
  /** RFC 3339; empty if unknown. */
  readonly createdAt: string
  readonly problems: readonly PolicyProblem[]
}

/** How sidecars answer requests that no backend is for. */
const answers: Readonly<Record<GatewayRouteKind, string>> = {
  HTTPRoute: 'answered 500',
  GRPCRoute: 'answered with the status UNAVAILABLE',
}

/** What a route says; undefined if there is none of that name. */
export const routeAnalysis = defineQuery<CatalogState, RouteRef, RouteAnalysis | undefined>({
  name: 'gateway-route-analysis',
  keyOf: routeKey,
  equal: deepEqual,
  compute: (context, { kind, ...key }) => {
    const route: Route | undefined =
      kind === 'HTTPRoute' ? context.get(objectInputs.HTTPRoute, key) : context.get(objectInputs.GRPCRoute, key)
    if (route === undefined) return undefined
    const problems = new ProblemList(objectRefOf(kind, key))
    const references = { context, route, problems }
    const unmatched = new RuleFaults(problems, 'the match holds for no request')
    const rules =
      route.kind === 'HTTPRoute'
        ? route.spec.rules.map((rule, index) => translateRule(references, index, httpRule(rule, index, unmatched)))
        : route.spec.rules.map((rule, index) => translateRule(references, index, grpcRule(rule, index, unmatched)))
    const parents = parentPorts(context, route, problems)
    const ports = new Map(parents.flatMap((parent) => parent.ports.map((port) => [servicePortKey(port), port])))
    return {
      rules,
      parents,
      ports: [...ports.values()],
      createdAt: route.metadata.createdAt ?? '',
      problems: problems.items,
    }
  },
})

function parentPorts(context: Context, route: Route, problems: ProblemList): readonly RouteParent[] {
  const own = route.metadata.namespace
  return [...route.spec.parentRefs.entries()].flatMap(([index, parent]): readonly RouteParent[] => {
    if (!isService(parent)) return []
    const { namespace = own, name, port, sectionName } = parent
    const field = `spec.parentRefs[${index}]`
    const service = { namespace, name }
    const refuse = (message: string): readonly RouteParent[] => {
      problems.error('OSM_POLICY_ROUTE_PARENT', field, `${message}; the route does not apply there`)
      return []
    }
    const ports = context.get(serviceModel, service)?.ports
    if (ports === undefined) return refuse(`the mesh has no Service ${nameKey(service)}`)
    const meant = ports.filter(
      (candidate) =>
        isHttp(candidate.protocol) &&
        (port === undefined || candidate.port === port) &&
        (sectionName === undefined || candidate.name === sectionName),
    )
    if (meant.length === 0) return refuse(`Service ${nameKey(service)} has no such port that speaks HTTP`)
    return [{ field, ports: meant.map((candidate) => ({ ...service, port: candidate.port })) }]
  })
}

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

function translateRule(references: References, index: number, rule: ReadRule): RouteRule {
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

interface References {
  readonly context: Context
  readonly route: Route
  readonly problems: ProblemList
}

interface BackendReference {
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  readonly port?: number
}

/** The port that a reference leads to; undefined, with a problem, if it leads nowhere. */
function backendPort(
  { context, route, problems }: References,
  reference: BackendReference,
  field: string,
  effect: string,
): ServicePortRef | undefined {
  const own = route.metadata.namespace
  const { name, namespace = own, port } = reference
  const service = { namespace, name }
  if (!isService(reference)) {
    const what = reference.group === '' ? reference.kind : `${reference.kind} of ${reference.group}`
    problems.error('OSM_SPEC_ROUTE_KIND', `${field}.kind`, `must be a Service, not ${what}; ${effect}`)
    return undefined
  }
  const crossing = { from: { kind: route.kind, namespace: own }, to: { kind: 'Service', namespace, name } } as const
  // A namespace that calls a Service needs no consent to say so in a route of its own.
  if (!isParent(route, service) && !mayConcern(context, crossing)) {
    problems.error('OSM_SPEC_REF_NOT_PERMITTED', field, refusedReference(crossing, effect))
    return undefined
  }
  const ports = context.get(serviceModel, service)?.ports
  const found = ports?.find((candidate) => candidate.port === port)
  if (found === undefined) {
    const known = ports?.map((candidate) => candidate.port).join(', ')
    const what =
      ports === undefined
        ? `the mesh has no Service ${nameKey(service)}`
        : `Service ${nameKey(service)} has no TCP port ${port ?? '(none is given)'}; it has ${known || 'none'}`
    problems.error('OSM_POLICY_ROUTE_BACKEND', field, `${what}; ${effect}`)
    return undefined
  }
  if (!isHttp(found.protocol)) {
    const what = `port ${found.port} of Service ${nameKey(service)} speaks ${found.protocol}, not HTTP`
    problems.error('OSM_POLICY_ROUTE_PROTOCOL', field, `${what}; ${effect}`)
    return undefined
  }
  return { ...service, port: found.port }
}

function isParent({ metadata, spec }: Route, service: NamespacedName): boolean {
  return spec.parentRefs.some(
    (parent) =>
      isService(parent) && sameName({ namespace: parent.namespace ?? metadata.namespace, name: parent.name }, service),
  )
}

/** True if a service gets requests or copies from a route. */
export function leadsTo({ rules }: RouteAnalysis, service: NamespacedName): boolean {
  return rules.some(({ backends, copies }) =>
    [...backends, ...copies].some(({ port }) => port !== undefined && sameName(port, service)),
  )
}
