import { writtenKind } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameKey, type CalledPortRef } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { connectionPlan } from './connection-plan.js'
import { grpcRouteAt } from './route-plan.js'
import type { RouteAttachment } from './route-references.js'
import { sameRoute, type RouteRef } from './route-refs.js'

type Context = QueryContext<CatalogState>

/** Where a route does not apply because others do: an error at a parent of which no port is left, otherwise a warning. */
export function routeConflicts(
  context: Context,
  route: RouteRef,
  { parents }: Pick<RouteAttachment, 'parents'>,
): readonly PolicyProblem[] {
  const problems = new ProblemList(objectRefOf(route.kind, route))
  for (const { field, ports } of parents) {
    const lost = ports.flatMap((port) => {
      const callers = port.namespace === route.namespace ? {} : { readers: route.namespace }
      const holder = rivalAt(context, route, { ...port, ...callers })
      return holder === undefined ? [] : [`${port.port} (${writtenKind(holder.kind)} ${nameKey(holder)})`]
    })
    if (lost.length === 0) continue
    const message = `${holders[route.kind]} at port ${lost.join(', ')} of the Service; the ${writtenKind(route.kind)} does not apply there`
    if (lost.length === ports.length) problems.error('OSM_POLICY_ROUTE_CONFLICT', field, message)
    else problems.warning('OSM_POLICY_ROUTE_CONFLICT', field, message)
  }
  return problems.items
}

/** What holds in place of a route, by its kind. */
const holders: Readonly<Record<RouteRef['kind'], string>> = {
  HTTPRoute: 'GRPCRoutes hold',
  GRPCRoute: '',
  GatewayTCPRoute: 'another route holds',
}

/** The route that holds at a port in place of another one. */
function rivalAt(context: Context, route: RouteRef, port: CalledPortRef): RouteRef | undefined {
  switch (route.kind) {
    case 'HTTPRoute':
      return context.get(grpcRouteAt, port)
    case 'GRPCRoute':
      return undefined
    case 'GatewayTCPRoute': {
      const holder = context.get(connectionPlan, port)?.holder
      return holder === undefined || sameRoute(holder, route) ? undefined : holder
    }
  }
}
