import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameKey } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import type { RouteAnalysis } from './route-analysis.js'
import { grpcRouteAt } from './route-plan.js'
import type { RouteRef } from './route-refs.js'

/** Where an HTTPRoute does not apply because GRPCRoutes do: an error at a parent of which no port is left, otherwise a warning. */
export function routeConflicts(
  context: QueryContext<CatalogState>,
  route: RouteRef,
  { parents }: RouteAnalysis,
): readonly PolicyProblem[] {
  if (route.kind === 'GRPCRoute') return []
  const problems = new ProblemList(objectRefOf(route.kind, route))
  for (const { field, ports } of parents) {
    const lost = ports.flatMap((port) => {
      const callers = port.namespace === route.namespace ? {} : { readers: route.namespace }
      const holder = context.get(grpcRouteAt, { ...port, ...callers })
      return holder === undefined ? [] : [`${port.port} (GRPCRoute ${nameKey(holder)})`]
    })
    if (lost.length === 0) continue
    const message = `GRPCRoutes hold at port ${lost.join(', ')} of the Service; the HTTPRoute does not apply there`
    if (lost.length === ports.length) problems.error('OSM_POLICY_ROUTE_CONFLICT', field, message)
    else problems.warning('OSM_POLICY_ROUTE_CONFLICT', field, message)
  }
  return problems.items
}
