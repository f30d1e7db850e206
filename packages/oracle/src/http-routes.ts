import { mayRoute } from './consent.js'
import { areUsableOfBackend, changedHeaders, changedPath, isUsableRule } from './http-route-filters.js'
import { routesAt, ruleFor, rulesOf, type SentRequest } from './http-route-match.js'
import type { BackendRef, RouteFilter, RouteMatch } from './http-route-spec.js'
import type { Known, Objects, Ref, ServicePort } from './objects.js'
import { isServed, portOf, readsRequests } from './services.js'

/** What the sidecar of a caller answers by itself. */
export interface Answer {
  readonly status: number
  /** Where a redirect leads. */
  readonly location?: string
}

/** A share of requests: answered by the sidecar of the caller, or sent to a service as a rule has changed them. */
export type Share =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | {
      readonly kind: 'sent'
      readonly service: Known<'Service'>
      readonly port: ServicePort
      readonly request: SentRequest
      /** Present: the host that the server gets. */
      readonly host?: string
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

/** What HTTPRoutes do with a request; undefined where none is attached to the port. */
export function routedShares(objects: Objects, call: RoutedCall): readonly Share[] | undefined {
  const { callers, service, port, request } = call
  const routes = routesAt(objects, callers, service, port)
  if (routes.length === 0) return undefined
  const chosen = ruleFor(routes, request)
  if (chosen === undefined) return [answer(404)]
  const { route, rule, match } = chosen
  if (!isUsableRule(rule)) return [answer(500)]
  const { filters = [], backendRefs = [] } = rule
  const redirect = filters.find(({ type }) => type === 'RequestRedirect')
  if (redirect !== undefined) return [redirection(redirect, match, call)]
  const rewrite = filters.find(({ type }) => type === 'URLRewrite')?.urlRewrite
  const changed = {
    ...request,
    path: changedPath(request.path, rewrite?.path, match),
    headers: changedHeaders(request.headers, filters),
  }
  const weighted = backendRefs.filter(({ weight = 1 }) => weight > 0)
  const backends = weighted.map((backend) => ({ backend, meant: meantBy(objects, route, backend) }))
  if (backends.length === 0) return [answer(500)]
  // Sidecars know one status for the shares that they answer with an error.
  const status = backends.some(({ meant }) => meant === undefined) ? 500 : 503
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

/** True if some rule of a route sends requests to a service that one of these accounts serves. */
export function leadsTo(
  objects: Objects,
  route: Known<'HTTPRoute'>,
  isReached: (service: Known<'Service'>) => boolean,
): boolean {
  return rulesOf(route).some(({ backendRefs = [] }) =>
    backendRefs.some((backend) => {
      const meant = meantBy(objects, route, backend)
      return meant !== undefined && isReached(meant.service)
    }),
  )
}

/** The port that a backend means; undefined if its share is answered with an error. */
function meantBy(
  objects: Objects,
  route: Known<'HTTPRoute'>,
  { group = '', kind = 'Service', name, namespace = route.namespace, port: number, filters }: BackendRef,
): { readonly service: Known<'Service'>; readonly port: ServicePort } | undefined {
  const ref = { namespace, name }
  if (group !== '' || kind !== 'Service' || number === undefined || !areUsableOfBackend(filters)) return undefined
  if (!isParent(route, ref) && !mayRoute(objects, route.namespace, ref)) return undefined
  const service = objects.find('Service', ref)
  if (!isServed(objects, service)) return undefined
  const port = portOf(service, number)
  return port === undefined || !readsRequests(port) ? undefined : { service, port }
}

function isParent({ namespace: home, spec: { parentRefs = [] } }: Known<'HTTPRoute'>, ref: Ref): boolean {
  return parentRefs.some(
    ({ group, kind, namespace = home, name }) =>
      group === '' && kind === 'Service' && name === ref.name && namespace === ref.namespace,
  )
}

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 }

/** A redirect. Without a port of its own it leads to that of its scheme, or to the one that was called. */
function redirection(
  { requestRedirect: { scheme, hostname, port, statusCode = 302, path } = {} }: RouteFilter,
  match: RouteMatch,
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
