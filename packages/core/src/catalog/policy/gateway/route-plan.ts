import {
  canonicalJson,
  compareText,
  type HeaderChanges,
  type OutboundRoute,
  type OutboundMatch,
  type RouteRedirect,
} from '@osm-ts/driver-api/policy'

import type { RequestRouteKind } from '../../../spec/index.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  calledPortKey,
  compareNames,
  nameKey,
  servicePortKey,
  targetPortKey,
  type CalledPortRef,
  type ServicePortRef,
  type TargetPortRef,
} from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { MAX_PORT_ROUTES, reportTooMany } from '../problems/combinations.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { upstreamOfPort } from '../upstreams/upstreams.js'
import { routeAnalysis, type RouteBackend, type RouteRule } from './route-analysis.js'
import type { FilterChanges } from './route-filters.js'
import { compareRanked, type RankedMatch } from './route-order.js'
import { routeAttachment } from './route-reach.js'
import { portFor } from './route-references.js'
import { routesBy, type RouteRef } from './route-refs.js'
import { routesAtPort } from './routed-ports.js'

type Context = QueryContext<CatalogState>
type RequestRoute = RouteRef<RequestRouteKind>

/** A share of requests that goes to an upstream. */
export interface GatewayTarget {
  readonly upstream: TargetPortRef
  readonly weight: number
  readonly requestHeaders?: HeaderChanges
  readonly responseHeaders?: HeaderChanges
}

/** What a rule does besides sending requests to upstreams. */
export interface GatewayAction extends FilterChanges, Pick<OutboundRoute, 'errorWeight' | 'errorStatus' | 'retries'> {
  readonly timeoutMs: number
  /** Sorted by upstream. */
  readonly copies: readonly { readonly upstream: TargetPortRef; readonly perMillion: number }[]
}

/** A route of a service port. */
export interface GatewayRoute {
  readonly match: OutboundMatch
  readonly targets: readonly GatewayTarget[]
  readonly action: GatewayAction
  readonly origins: readonly SourceRef[]
}

/** The routes of the Gateway API at a service port. */
export interface GatewayRoutes {
  /** In order. */
  readonly routes: readonly GatewayRoute[]
  readonly problems: readonly PolicyProblem[]
}

/** Ports of services of other namespaces for which a namespace has routes of its own. */
export const consumedPorts = defineQuery<CatalogState, string, readonly ServicePortRef[]>({
  name: 'consumed-ports',
  keyOf: textKey,
  equal: deepEqual,
  compute: (context, readers) => {
    const ports = routesBy(context, 'consumer', readers)
      .flatMap((route) => routeAttachment(context, route)?.ports ?? [])
      .filter(({ namespace }) => namespace !== readers)
    const found = new Map(ports.map((port) => [servicePortKey(port), port]))
    return [...found].sort(([a], [b]) => compareText(a, b)).map(([, port]) => port)
  },
})

/**
 * The routes of the Gateway API at a service port, in the order in which they apply; undefined if none is attached to it. They are those of the namespace
 * of the service, or of the one of the callers if that is given: these replace the others for its callers.
 */
export const gatewayRoutes = defineQuery<CatalogState, CalledPortRef, GatewayRoutes | undefined>({
  name: 'gateway-routes',
  keyOf: calledPortKey,
  equal: deepEqual,
  compute: (context, key) => {
    const attached = attachedRoutes(context, key)
    if (attached.length === 0) return undefined
    const problems: PolicyProblem[] = []
    const ranked: RankedRequests[] = []
    for (const { route, createdAt, rules } of attached) {
      const own = rules.flatMap((rule) => rule.matches.map((requests) => ({ rule, ...requests })))
      if (ranked.length + own.length > MAX_PORT_ROUTES) {
        const list = new ProblemList(objectRefOf(route.kind, route))
        const what = `is ignored at port ${key.port}: with those before it by age and name, Service ${nameKey(key)} has more matches`
        reportTooMany(list, 'spec.rules', what, MAX_PORT_ROUTES, 'use fewer')
        problems.push(...list.items)
        continue
      }
      ranked.push(...own.map((each, place) => ({ ...each, route, createdAt, place })))
    }
    const actions = new Map<RouteRule, Pick<GatewayRoute, 'targets' | 'action'>>()
    const seen = new Set<string>()
    const routes = ranked.sort(compareRanked).flatMap(({ match, rule, route, field }): readonly GatewayRoute[] => {
      const text = canonicalJson(match)
      // No request comes to a match that is the same as one before it.
      if (seen.has(text)) return []
      seen.add(text)
      const known = actions.get(rule) ?? actionOf(context, rule, { kind: route.kind, called: key })
      actions.set(rule, known)
      return [{ match, ...known, origins: [{ object: objectRefOf(route.kind, route), field }] }]
    })
    return { routes, problems }
  },
})

interface RankedRequests extends RankedMatch {
  readonly route: RequestRoute
  readonly match: OutboundMatch
  readonly rule: RouteRule
  readonly field: string
}

/**
 * The first GRPCRoute at a service port, for the same callers as {@link gatewayRoutes}. Where there is one, HTTPRoutes do not apply: the mesh profile of
 * the Gateway API merges no kinds at a port, and takes the closer one.
 */
export const grpcRouteAt = defineQuery<CatalogState, CalledPortRef, RequestRoute | undefined>({
  name: 'grpc-route-at',
  keyOf: calledPortKey,
  equal: deepEqual,
  compute: (context, port) => {
    const [first] = context.get(routesAtPort, { ...port, kind: 'GRPCRoute' }).toSorted(compareNames)
    return first && { ...first, kind: 'GRPCRoute' }
  },
})

interface AttachedRoute {
  readonly route: RequestRoute
  readonly createdAt: string
  readonly rules: readonly RouteRule[]
}

/** In the order in which they have a claim. */
function attachedRoutes(context: Context, port: CalledPortRef): readonly AttachedRoute[] {
  const kind = context.get(grpcRouteAt, port) === undefined ? 'HTTPRoute' : 'GRPCRoute'
  return context.get(routesAtPort, { ...port, kind }).flatMap(({ namespace, name }): readonly AttachedRoute[] => {
    const route = { kind, namespace, name } as const
    const analysis = context.get(routeAnalysis, route)
    return analysis === undefined ? [] : [{ route, createdAt: analysis.createdAt, rules: analysis.rules }]
  })
}

/** A rule's place: the kind of its route, and the port that is called. */
interface RulePlace {
  readonly kind: RequestRouteKind
  readonly called: CalledPortRef
}

/** What a rule does to its requests, in a route of a kind, at a port. */
function actionOf(context: Context, rule: RouteRule, place: RulePlace): Pick<GatewayRoute, 'targets' | 'action'> {
  const { kind, called } = place
  const nothing = { timeoutMs: 0, copies: [] }
  if (!rule.isUsable) return { targets: [], action: { ...nothing, errorWeight: 1, ...errorStatuses[kind] } }
  const { requestHeaders: _sent, redirect, ...answered } = rule.changes
  if (redirect !== undefined)
    return { targets: [], action: { ...nothing, ...answered, redirect: redirectFrom(redirect, called.port) } }
  const { targets, ...errors } = sharesOf(context, rule.backends, place)
  const copies = new Map(
    rule.copies.flatMap(({ port: meant, perMillion }) => {
      const port = portFor(meant, called.readers)
      const upstream = port === undefined ? undefined : context.get(upstreamOfPort, port)
      return upstream === undefined ? [] : [[targetPortKey(upstream), { upstream, perMillion }] as const]
    }),
  )
  return {
    targets,
    action: {
      ...rule.changes,
      timeoutMs: rule.timeoutMs,
      ...(rule.retries === undefined ? {} : { retries: rule.retries }),
      ...errors,
      copies: [...copies].sort(([a], [b]) => compareText(a, b)).map(([, copy]) => copy),
    },
  }
}

/** The answer for an invalid rule or backend, if it is not 500: clients of gRPC read 503 as UNAVAILABLE, and 500 as UNKNOWN. */
const errorStatuses: Readonly<Record<RequestRouteKind, Pick<GatewayAction, 'errorStatus'>>> = {
  HTTPRoute: {},
  GRPCRoute: { errorStatus: 503 },
}

const usualPorts = { http: 80, https: 443 } as const

/** A redirect without a port leads to that of its scheme; without a scheme to the port that was called. */
function redirectFrom(redirect: RouteRedirect, called: number): RouteRedirect {
  const { scheme, host, port } = redirect
  if (port !== undefined) return redirect
  // Which host a request names is not known here. At port 80 it goes without the port.
  if (scheme !== undefined)
    return host !== undefined || called === 80 ? redirect : { ...redirect, port: usualPorts[scheme] }
  return host === undefined || called === 80 ? redirect : { ...redirect, port: called }
}

/** Shares of backends. Those that change nothing of their own and lead to one upstream are one. */
function sharesOf(
  context: Context,
  backends: readonly RouteBackend[],
  { kind, called }: RulePlace,
): Pick<GatewayAction, 'errorWeight' | 'errorStatus'> & { readonly targets: readonly GatewayTarget[] } {
  const shares = new Map<string, GatewayTarget>()
  let invalid = 0
  let unavailable = 0
  for (const { port: meant, weight, changes } of backends) {
    const port = portFor(meant, called.readers)
    const upstream = port === undefined ? undefined : context.get(upstreamOfPort, port)
    if (upstream === undefined) {
      if (port === undefined) invalid += weight
      else unavailable += weight
      continue
    }
    const { requestHeaders, responseHeaders } = changes
    const own = {
      ...(requestHeaders === undefined ? {} : { requestHeaders }),
      ...(responseHeaders === undefined ? {} : { responseHeaders }),
    }
    const key = `${targetPortKey(upstream)} ${canonicalJson(own)}`
    shares.set(key, { upstream, weight: (shares.get(key)?.weight ?? 0) + weight, ...own })
  }
  const targets = [...shares.values()]
  const total = targets.reduce((sum, { weight }) => sum + weight, invalid + unavailable)
  // Without any share, requests are an error as well.
  if (total === 0) return { targets, errorWeight: 1, ...errorStatuses[kind] }
  if (invalid + unavailable === 0) return { targets }
  // Sidecars know one status for both, and what only a user can put right is the graver one.
  return {
    targets,
    errorWeight: invalid + unavailable,
    ...(invalid === 0 ? { errorStatus: 503 } : errorStatuses[kind]),
  }
}
