import type { OutboundMatch } from '@osm-ts/driver-api/policy'

import { parseDuration } from '../../../config/index.js'
import { refusedReference, type HTTPRouteRule, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { isService } from '../../inputs/references.js'
import { mayConcern } from '../access/consent.js'
import { nameKey, sameName, type NamespacedName, type ServicePortRef } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { serviceModel } from '../upstreams/services.js'
import { routeConditions } from './route-conditions.js'
import { translateFilters, type FilterChanges } from './route-filters.js'
import { RuleFaults } from './rule-faults.js'

type Context = QueryContext<CatalogState>
type Route = KindMap['HTTPRoute']

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
  readonly matches: readonly { readonly match: OutboundMatch; readonly field: string }[]
  /** False: requests are answered 500, because a part of the rule cannot be used. */
  readonly isUsable: boolean
  readonly changes: FilterChanges
  readonly backends: readonly RouteBackend[]
  readonly copies: readonly RouteCopies[]
  /** 0 means none. */
  readonly timeoutMs: number
}

/** What a route of the Gateway API says. */
export interface RouteAnalysis {
  readonly rules: readonly RouteRule[]
  /** Ports of services that the route is attached to. Those of other namespaces are for callers of the namespace of the route alone. */
  readonly ports: readonly ServicePortRef[]
  /** RFC 3339; empty if unknown. */
  readonly createdAt: string
  readonly problems: readonly PolicyProblem[]
}

const ANSWERED_500 = 'requests of the rule are answered 500'

/** What an HTTPRoute says; undefined if there is none of that name. */
export const routeAnalysis = defineQuery<CatalogState, NamespacedName, RouteAnalysis | undefined>({
  name: 'gateway-route-analysis',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const route = context.get(objectInputs.HTTPRoute, key)
    if (route === undefined) return undefined
    const problems = new ProblemList(objectRefOf('HTTPRoute', key))
    return {
      rules: route.spec.rules.map((rule, index) => translateRule(context, route, { rule, index }, problems)),
      ports: parentPorts(context, route, problems),
      createdAt: route.metadata.createdAt ?? '',
      problems: problems.items,
    }
  },
})

function parentPorts(context: Context, route: Route, problems: ProblemList): readonly ServicePortRef[] {
  const own = route.metadata.namespace
  const found = new Map<string, ServicePortRef>()
  for (const [index, parent] of route.spec.parentRefs.entries()) {
    if (!isService(parent)) continue
    const { namespace = own, name, port, sectionName } = parent
    const field = `spec.parentRefs[${index}]`
    const service = { namespace, name }
    const refuse = (message: string): void => {
      problems.error('OSM_POLICY_ROUTE_PARENT', field, `${message}; the route does not apply there`)
    }
    const ports = context.get(serviceModel, service)?.ports
    if (ports === undefined) {
      refuse(`the mesh has no Service ${nameKey(service)}`)
      continue
    }
    const meant = ports.filter(
      (candidate) =>
        isHttp(candidate.protocol) &&
        (port === undefined || candidate.port === port) &&
        (sectionName === undefined || candidate.name === sectionName),
    )
    if (meant.length === 0) refuse(`Service ${nameKey(service)} has no such port that speaks HTTP`)
    for (const candidate of meant) {
      const key = { ...service, port: candidate.port }
      found.set(`${nameKey(service)}|${candidate.port}`, key)
    }
  }
  return [...found.values()]
}

function translateRule(
  context: Context,
  route: Route,
  { rule, index }: { readonly rule: HTTPRouteRule; readonly index: number },
  problems: ProblemList,
): RouteRule {
  const field = `spec.rules[${index}]`
  const written = rule.matches === undefined || rule.matches.length === 0 ? [{}] : rule.matches
  const unmatched = new RuleFaults(problems, 'the match holds for no request')
  const matches = written.flatMap((source, place) => {
    const at = `${field}.matches[${place}]`
    const match = routeConditions(source, at, unmatched)
    return match === undefined ? [] : [{ match, field: at }]
  })
  const faults = new RuleFaults(problems, ANSWERED_500)
  const { changes, mirrors } = translateFilters(rule.filters, { field: `${field}.filters`, matches: written }, faults)
  const timeoutMs = timeoutOf(rule.timeouts, `${field}.timeouts`, faults)
  const references = { context, route, problems }
  const copies = mirrors.flatMap(({ mirror, field: at }): readonly RouteCopies[] => {
    const port = backendPort(references, mirror.backendRef, `${at}.backendRef`, 'nothing is copied')
    const perMillion = shareOf(mirror)
    return port === undefined || perMillion === 0 ? [] : [{ port, perMillion }]
  })
  const backends = (rule.backendRefs ?? []).map((backend, place): RouteBackend => {
    const at = `${field}.backendRefs[${place}]`
    const own = new RuleFaults(problems, 'its share is answered 500')
    const { changes: ownChanges } = translateFilters(
      backend.filters,
      { field: `${at}.filters`, matches: undefined },
      own,
    )
    const port = backendPort(references, backend, at, 'its share is answered 500')
    return { port: own.count > 0 ? undefined : port, weight: backend.weight, changes: ownChanges }
  })
  if (changes.redirect !== undefined && backends.length > 0)
    faults.add('OSM_SPEC_ROUTE_FILTERS', `${field}.backendRefs`, 'a redirect cannot be used together with backends')
  return { index, matches, isUsable: faults.count === 0, changes, backends, copies, timeoutMs }
}

/** Durations of the Gateway API are those of Go without signs, fractions and small units. */
const duration = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/

function timeoutOf(timeouts: HTTPRouteRule['timeouts'], field: string, faults: RuleFaults): number {
  const found = (['request', 'backendRequest'] as const).flatMap((name) => {
    const text = timeouts?.[name]
    if (text === undefined) return []
    const milliseconds = duration.test(text) ? parseDuration(text) : undefined
    if (milliseconds === undefined) {
      faults.add(
        'OSM_SPEC_DURATION',
        `${field}.${name}`,
        `must be a duration such as 500ms or 10s, not ${JSON.stringify(text)}`,
      )
      return []
    }
    return milliseconds === 0 ? [] : [milliseconds]
  })
  return found.length === 0 ? 0 : Math.min(...found)
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
  const crossing = { from: { kind: 'HTTPRoute', namespace: own }, to: { kind: 'Service', namespace, name } } as const
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
