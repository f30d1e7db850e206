import { writtenKind } from '../../../spec/index.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameKey, type CalledPortRef } from '../parts/keys.js'
import { combinationsInAll, reportTooMany } from '../problems/combinations.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { connectionPlan, type RouteLoss } from './connection-plan.js'
import { grpcRouteAt } from './route-plan.js'
import type { RouteAttachment } from './route-references.js'
import { isConnectionRoute, sameRoute, type RouteRef } from './route-refs.js'
import { isBeyondBound } from './routed-ports.js'

type Context = QueryContext<CatalogState>

/** Where a route does not apply because others do: an error at a parent of which no port is left, otherwise a warning. */
export function routeConflicts(
  context: Context,
  route: RouteRef,
  { parents }: Pick<RouteAttachment, 'parents'>,
): readonly PolicyProblem[] {
  const problems = new ProblemList(objectRefOf(route.kind, route))
  for (const { field, ports } of parents) {
    const [port] = ports
    if (port === undefined) continue
    if (isBeyondBound(context, route, port)) {
      const what = `is ignored: with those before it by age and name, Service ${nameKey(port)} has more combinations of port, match and backend`
      reportTooMany(problems, field, what, combinationsInAll.gatewayRoutes, 'use fewer')
      continue
    }
    const losses = ports.flatMap((port) => {
      const callers = port.namespace === route.namespace ? {} : { readers: route.namespace }
      const loss = lossAt(context, route, { ...port, ...callers })
      return loss === undefined ? [] : [{ port: port.port, ...loss }]
    })
    const whole = losses.filter(({ serverNames }) => serverNames === undefined)
    for (const { port, holder, serverNames = [] } of losses.filter((loss) => !whole.includes(loss)))
      problems.warning(
        'OSM_POLICY_ROUTE_CONFLICT',
        field,
        `${namesIn(serverNames)} at port ${port} of the Service ${serverNames.length === 1 ? 'is' : 'are'} of another route (${said(holder)})`,
      )
    if (whole.length === 0) continue
    const at = whole.map(({ port, holder }) => `${port} (${said(holder)})`).join(', ')
    const message = `${holders[route.kind]} at port ${at} of the Service; the ${writtenKind(route.kind)} does not apply there`
    if (whole.length === ports.length) problems.error('OSM_POLICY_ROUTE_CONFLICT', field, message)
    else problems.warning('OSM_POLICY_ROUTE_CONFLICT', field, message)
  }
  return problems.items
}

function said(route: RouteRef): string {
  return `${writtenKind(route.kind)} ${nameKey(route)}`
}

function namesIn(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}

/** What holds in place of a route, by its kind. */
const holders: Readonly<Record<RouteRef['kind'], string>> = {
  HTTPRoute: 'GRPCRoutes take precedence',
  GRPCRoute: '',
  GatewayTCPRoute: 'another route takes precedence',
  TLSRoute: 'other routes have the server names',
}

/** What a route loses at a port, and to which. */
function lossAt(context: Context, route: RouteRef, port: CalledPortRef): Omit<RouteLoss, 'route'> | undefined {
  if (isConnectionRoute(route))
    return context.get(connectionPlan, port)?.losses.find(({ route: loser }) => sameRoute(loser, route))
  const holder = route.kind === 'HTTPRoute' ? context.get(grpcRouteAt, port) : undefined
  return holder === undefined ? undefined : { holder }
}
