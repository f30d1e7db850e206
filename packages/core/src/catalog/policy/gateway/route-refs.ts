import type { ConnectionRouteKind, GatewayRouteKind, RequestRouteKind } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs } from '../../inputs/inputs.js'
import type { IndexName } from '../../inputs/policy-indexes.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'

/** A route of the Gateway API by kind and name. */
export interface RouteRef<K extends GatewayRouteKind = GatewayRouteKind> extends NamespacedName {
  readonly kind: K
}

/** Narrows to a route of connections. */
export function isConnectionRoute(route: RouteRef): route is RouteRef<ConnectionRouteKind> {
  return route.kind === 'GatewayTCPRoute' || route.kind === 'TLSRoute'
}

/** Narrows to a route of requests. */
export function isRequestRoute(route: RouteRef): route is RouteRef<RequestRouteKind> {
  return !isConnectionRoute(route)
}

/** `<kind>/<namespace>/<name>` */
export function routeKey(route: RouteRef): string {
  return `${route.kind}/${nameKey(route)}`
}

/** True if both are the same route. */
export function sameRoute(a: RouteRef, b: { readonly kind: string } & NamespacedName): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name
}

const routeKinds: readonly GatewayRouteKind[] = ['HTTPRoute', 'GRPCRoute', 'GatewayTCPRoute', 'TLSRoute']

const indexes = {
  parent: {
    HTTPRoute: 'routesByParent',
    GRPCRoute: 'grpcRoutesByParent',
    GatewayTCPRoute: 'tcpRoutesByParent',
    TLSRoute: 'tlsRoutesByParent',
  },
  consumer: {
    HTTPRoute: 'routesByConsumer',
    GRPCRoute: 'grpcRoutesByConsumer',
    GatewayTCPRoute: 'tcpRoutesByConsumer',
    TLSRoute: 'tlsRoutesByConsumer',
  },
  backend: {
    HTTPRoute: 'routesByBackend',
    GRPCRoute: 'grpcRoutesByBackend',
    GatewayTCPRoute: 'tcpRoutesByBackend',
    TLSRoute: 'tlsRoutesByBackend',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<GatewayRouteKind, IndexName>>>>

/**
 * Routes by what they refer to: their parent in their own namespace, a backend, or their own namespace if a parent is in another one. By kind and name.
 *
 * @param kinds - those to look for
 */
export function routesBy<K extends GatewayRouteKind = GatewayRouteKind>(
  context: QueryContext<CatalogState>,
  by: keyof typeof indexes,
  key: string,
  kinds: readonly K[] = routeKinds as readonly K[], // without kinds, K is all of them
): readonly RouteRef<K>[] {
  return kinds.flatMap((kind) => context.get(indexInputs[indexes[by][kind]], key).map((name) => ({ kind, ...name })))
}
