import type { BackendRef, ParentRef } from './http-route-spec.js'
import { portMeantBy, type SentTo } from './http-routes.js'
import type { Known, Objects, ServicePort } from './objects.js'
import { nearest } from './request-routes.js'
import { protocolOf, readsRequests } from './services.js'

/** A TCPRoute of the Gateway API or a TLSRoute. */
export interface ConnectionRoute {
  /** As grants name it. */
  readonly kind: 'TCPRoute' | 'TLSRoute'
  readonly namespace: string
  readonly createdAt: string
  readonly parentRefs: readonly ParentRef[]
  /** Of TLS connections. */
  readonly hostnames: readonly string[]
  readonly backendRefs: readonly BackendRef[]
}

/** A connection to a service. */
export interface RoutedConnection {
  /** Namespace of the caller. */
  readonly callers: string
  readonly service: Known<'Service'>
  readonly port: ServicePort
  /** That TLS asks for; absent without TLS or without a name. */
  readonly serverName?: string
  /** False for a service that no workload with a certificate is behind. */
  readonly hasWorkloads: (service: Known<'Service'>, port: ServicePort) => boolean
}

/** All routes of connections, by kind and name. */
export function connectionRoutes(objects: Objects): readonly ConnectionRoute[] {
  const read =
    (kind: ConnectionRoute['kind']) =>
    ({ namespace, createdAt, spec }: Known<'GatewayTCPRoute' | 'TLSRoute'>): ConnectionRoute => ({
      kind,
      namespace,
      createdAt,
      parentRefs: spec.parentRefs ?? [],
      hostnames: spec.hostnames ?? [],
      backendRefs: (spec.rules ?? []).flatMap(({ backendRefs = [] }) => backendRefs),
    })
  return [...objects.list('TLSRoute').map(read('TLSRoute')), ...objects.list('GatewayTCPRoute').map(read('TCPRoute'))]
}

/** Where a connection may go, and `closed` for what is closed; undefined where no route is attached to the port. */
export function connectionShares(
  objects: Objects,
  { callers, service, port, serverName, hasWorkloads }: RoutedConnection,
): readonly (SentTo | 'closed')[] | undefined {
  const routes = nearest(
    connectionRoutes(objects).filter(({ kind }) => isFitting(kind, port)),
    callers,
    service,
    port,
  )
  if (routes.length === 0) return undefined
  const byName = routes.filter(({ kind }) => kind === 'TLSRoute')
  // Of TCPRoutes the first holds.
  const route = byName.length === 0 ? routes[0] : routeOfName(byName, serverName?.toLowerCase())
  const shares = (route?.backendRefs ?? []).flatMap((backend): readonly (SentTo | 'closed')[] => {
    if (route === undefined || backend.weight === 0) return []
    const meant = portMeantBy(objects, route, backend, service.namespace)
    const isUsable = meant !== undefined && isFitting(route.kind, meant.port)
    return isUsable && hasWorkloads(meant.service, meant.port) ? [meant] : ['closed']
  })
  return shares.length === 0 ? ['closed'] : shares
}

/** The first route with the name, else with the longest wildcard for it. */
function routeOfName(routes: readonly ConnectionRoute[], name = ''): ConnectionRoute | undefined {
  const labels = name.split('.')
  const forms = labels.map((_, index) => (index === 0 ? name : `*.${labels.slice(index).join('.')}`))
  const form = forms.find((each) => routes.some(({ hostnames }) => hostnames.includes(each)))
  return form === undefined ? undefined : routes.find(({ hostnames }) => hostnames.includes(form))
}

/** True if a route of a kind may be attached to a port, and lead there. Where servers speak first, no sidecar waits for a server name. */
export function isFitting(kind: ConnectionRoute['kind'], port: ServicePort): boolean {
  return !readsRequests(port) && !(kind === 'TLSRoute' && protocolOf(port) === 'tcp-server-first')
}

/**
 * True if a route sends connections to such a service.
 *
 * @param called - namespace of the service that is called
 */
export function connectsTo(
  objects: Objects,
  route: ConnectionRoute,
  called: string,
  isReached: (service: Known<'Service'>) => boolean,
): boolean {
  return route.backendRefs.some((backend) => {
    const meant = portMeantBy(objects, route, backend, called)
    return meant !== undefined && isFitting(route.kind, meant.port) && isReached(meant.service)
  })
}
