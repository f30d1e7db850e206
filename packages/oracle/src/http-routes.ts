import { mayRoute } from './consent.js'
import { areUsableOfBackend, changedHeaders, changedPath } from './http-route-filters.js'
import type { BackendRef, Mirror, ParentRef, RouteFilter } from './http-route-spec.js'
import type { Known, Objects, ServicePort } from './objects.js'
import { routesAt } from './read-routes.js'
import {
  isParent,
  type RequestMatch,
  type RequestRoute,
  type RequestRule,
  ruleFor,
  type SentRequest,
} from './request-routes.js'
import { isServed, portOf, readsRequests } from './services.js'

/** What the sidecar of a caller answers by itself. */
export interface Answer {
  /** Connections have no status: they are closed. */
  readonly status: number | 'closed'
  /** Where a redirect leads. */
  readonly location?: string
}

/** A share of requests: answered by the sidecar of the caller, or sent to a service as a rule has changed them. */
export type Share =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | (SentTo & {
      readonly kind: 'sent'
      readonly request: SentRequest
      /** Present: the host that the server gets. */
      readonly host?: string
    })

/** Where something is sent. */
export interface SentTo {
  readonly service: Known<'Service'>
  readonly port: ServicePort
}

/** Copies of requests. */
export interface CopiesTo extends SentTo {
  /** False for those of some requests only. */
  readonly ofAll: boolean
}

/** What a rule does with a request. */
export interface Routing {
  readonly shares: readonly Share[]
  readonly copies: readonly CopiesTo[]
  /** When a request is sent again: after these statuses, so many times. */
  readonly retry?: { readonly codes: readonly number[]; readonly attempts: number }
}

/** A request to a service, and whose it is. */
export interface RoutedCall {
  /** Namespace of the caller. */
  readonly callers: string
  readonly service: Known<'Service'>
  readonly port: ServicePort
  readonly request: SentRequest
  /** False for a service that no workload with a certificate is behind. */
  readonly hasWorkloads: (service: Known<'Service'>, port: ServicePort) => boolean
}

/** What HTTPRoutes and GRPCRoutes do with a request; undefined where none is attached to the port. */
export function routing(objects: Objects, call: RoutedCall): Routing | undefined {
  const { callers, service, port, request } = call
  const routes = routesAt(objects, callers, service, port)
  if (routes.length === 0) return undefined
  const chosen = ruleFor(routes, request)
  // Clients of gRPC read 404 as UNIMPLEMENTED and 503 as UNAVAILABLE.
  if (chosen === undefined) return answered(404)
  const { route, rule, match } = chosen
  const invalid = route.kind === 'GRPCRoute' ? 503 : 500
  if (!rule.isUsable) return answered(invalid)
  const redirect = rule.filters.find(({ type }) => type === 'RequestRedirect')
  if (redirect !== undefined) return { shares: [redirection(redirect, match, call)], copies: [] }
  const shares = sharesOf(objects, call, { route, rule, match, invalid })
  const copies = copiesOf(objects, route, rule, service.namespace).filter(({ service: to, port: at }) =>
    call.hasWorkloads(to, at),
  )
  const { retry } = rule
  return {
    shares,
    copies,
    ...(retry === undefined ? {} : { retry: { codes: retry.codes ?? [], attempts: retry.attempts ?? 1 } }),
  }
}

interface Chosen {
  readonly route: RequestRoute
  readonly rule: RequestRule
  readonly match: RequestMatch
  /** Status of what cannot be used. */
  readonly invalid: number
}

function sharesOf(objects: Objects, call: RoutedCall, { route, rule, match, invalid }: Chosen): readonly Share[] {
  const { request } = call
  const rewrite = rule.filters.find(({ type }) => type === 'URLRewrite')?.urlRewrite
  const changed = {
    ...request,
    path: changedPath(request.path, rewrite?.path, match),
    headers: changedHeaders(request.headers, rule.filters),
  }
  const weighted = rule.backendRefs.filter(({ weight = 1 }) => weight > 0)
  const backends = weighted.map((backend) => ({
    backend,
    meant: meantBy(objects, route, backend, call.service.namespace),
  }))
  if (backends.length === 0) return [answer(invalid)]
  // Sidecars know one status for the shares that they answer with an error.
  const status = backends.some(({ meant }) => meant === undefined) ? invalid : 503
  return backends.map(({ backend, meant }): Share => {
    if (meant === undefined || !call.hasWorkloads(meant.service, meant.port)) return answer(status)
    return {
      kind: 'sent',
      ...meant,
      request: { ...changed, headers: changedHeaders(changed.headers, backend.filters) },
      ...(rewrite?.hostname === undefined ? {} : { host: rewrite.hostname.toLowerCase() }),
    }
  })
}

/** Copies that a rule asks for. A mirror that cannot be used copies nothing, and the rule does the rest. */
function copiesOf(
  objects: Objects,
  route: RequestRoute,
  { filters }: RequestRule,
  called: string,
): readonly CopiesTo[] {
  return filters.flatMap(({ requestMirror }): readonly CopiesTo[] => {
    const share = requestMirror === undefined ? 0 : copiedShare(requestMirror)
    const to = requestMirror === undefined ? undefined : meantBy(objects, route, requestMirror.backendRef, called)
    return to === undefined || share === 0 ? [] : [{ ...to, ofAll: share === 1 }]
  })
}

/** Between 0 and 1. */
function copiedShare({ percent = 100, fraction }: Mirror): number {
  return fraction === undefined ? percent / 100 : Math.min(1, fraction.numerator / (fraction.denominator ?? 100))
}

/**
 * True if some rule of a route sends requests or copies to a service that one of these accounts serves.
 *
 * @param called - namespace of the service that is called
 */
export function leadsTo(
  objects: Objects,
  route: RequestRoute,
  called: string,
  isReached: (service: Known<'Service'>) => boolean,
): boolean {
  return route.rules.some((rule) =>
    [
      ...rule.backendRefs.flatMap((backend) => meantBy(objects, route, backend, called) ?? []),
      ...copiesOf(objects, route, rule, called),
    ].some(({ service }) => isReached(service)),
  )
}

/** The port that a backend means; undefined if its share is answered with an error. */
function meantBy(objects: Objects, route: RequestRoute, backend: BackendRef, called: string): SentTo | undefined {
  const meant = areUsableOfBackend(backend.filters) ? portMeantBy(objects, route, backend, called) : undefined
  return meant === undefined || !readsRequests(meant.port) ? undefined : meant
}

/**
 * The port that a backend of a route means, whatever it speaks; undefined if there is none or the route may not send anything there. Without a grant a route
 * sends callers of its own namespace to a service that it is attached to, and no one who calls a service of that namespace.
 *
 * @param called - namespace of the service that is called
 */
export function portMeantBy(
  objects: Objects,
  {
    kind,
    namespace: home,
    parentRefs,
  }: { readonly kind: string; readonly namespace: string; readonly parentRefs: readonly ParentRef[] },
  { group = '', kind: referred = 'Service', name, namespace = home, port: number }: BackendRef,
  called: string,
): SentTo | undefined {
  const ref = { namespace, name }
  if (group !== '' || referred !== 'Service' || number === undefined) return undefined
  const isCalledFromHome = called !== home && parentRefs.some((parent) => isParent(parent, home, ref))
  if (!isCalledFromHome && !mayRoute(objects, { kind, namespace: home }, ref)) return undefined
  const service = objects.find('Service', ref)
  if (!isServed(objects, service)) return undefined
  const port = portOf(service, number)
  return port === undefined ? undefined : { service, port }
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 }

/** A redirect. Without a port of its own it leads to that of its scheme, or to the one that was called. */
function redirection(
  { requestRedirect: { scheme, hostname, port, statusCode = 302, path } = {} }: RouteFilter,
  match: RequestMatch,
  { service, port: called, request }: RoutedCall,
): Share {
  const host = hostname?.toLowerCase() ?? `${service.name}.${service.namespace}`
  const to = port ?? (scheme === undefined ? called.port : (PORTS[scheme] ?? called.port))
  const target = `${changedPath(request.path, path, match)}${request.query}`
  const location = `${scheme ?? 'http'}://${host}:${to}${target}`
  return { kind: 'answer', answer: { status: statusCode, location } }
}

function answer(status: number): Share {
  return { kind: 'answer', answer: { status } }
}

function answered(status: number): Routing {
  return { shares: [answer(status)], copies: [] }
}
