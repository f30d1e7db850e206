import type { GatewayRouteKind } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs } from '../../inputs/inputs.js'
import type { IndexName } from '../../inputs/policy-indexes.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'

/** A route of the Gateway API by kind and name. */
export interface RouteRef extends NamespacedName {
  readonly kind: GatewayRouteKind
}

/** `<kind>/<namespace>/<name>` */
export function routeKey(route: RouteRef): string {
  return `${route.kind}/${nameKey(route)}`
}

/** True if both are the same route. */
export function sameRoute(a: RouteRef, b: { readonly kind: string } & NamespacedName): boolean {
  return a.kind === b.kind && a.namespace === b.namespace && a.name === b.name
}

const routeKinds: readonly GatewayRouteKind[] = ['HTTPRoute', 'GRPCRoute']

const indexes = {
  parent: { HTTPRoute: 'routesByParent', GRPCRoute: 'grpcRoutesByParent' },
  consumer: { HTTPRoute: 'routesByConsumer', GRPCRoute: 'grpcRoutesByConsumer' },
  backend: { HTTPRoute: 'routesByBackend', GRPCRoute: 'grpcRoutesByBackend' },
} as const satisfies Readonly<Record<string, Readonly<Record<GatewayRouteKind, IndexName>>>>

/**
 * Routes by what they refer to: their parent in their own namespace, a backend, or their own namespace if a parent is in another one. By kind and name.
 *
 * @param kinds - those to look for
 */
export function routesBy(
  context: QueryContext<CatalogState>,
  by: keyof typeof indexes,
  key: string,
  kinds: readonly GatewayRouteKind[] = routeKinds,
): readonly RouteRef[] {
  return kinds.flatMap((kind) => context.get(indexInputs[indexes[by][kind]], key).map((name) => ({ kind, ...name })))
}
