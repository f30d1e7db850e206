import { compareText } from '@osm-ts/driver-api/policy'

import type { ConnectionRouteKind } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { calledPortKey, nameKey, targetPortKey, type CalledPortRef, type TargetPortRef } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { MAX_PORT_ROUTES, reportTooMany } from '../problems/combinations.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { upstreamOfPort } from '../upstreams/upstreams.js'
import { connectionAnalysis, type ConnectionAnalysis, type ConnectionBackend } from './connection-analysis.js'
import { portFor } from './route-references.js'
import type { RouteRef } from './route-refs.js'
import { routesAtPort } from './routed-ports.js'

type Context = QueryContext<CatalogState>

/** Shares of connections. */
interface ConnectionShare {
  /** Sorted by upstream. */
  readonly targets: readonly { readonly upstream: TargetPortRef; readonly weight: number }[]
  /** Share of connections that is closed, because its backend cannot be used; at least 1. Absent: none. */
  readonly errorWeight?: number
}

/** Where some connections to a service port go, by one route. */
export interface PlannedConnections extends ConnectionShare {
  /** Of TLS connections, which are meant alone; absent: all others. */
  readonly serverNames?: readonly string[]
  readonly origins: readonly SourceRef[]
}

/** Where connections to a service port go. */
export interface ConnectionPlan {
  /** Those that server names choose, and one for all others at the end. */
  readonly routes: readonly PlannedConnections[]
  /** What routes lose to others. */
  readonly losses: readonly RouteLoss[]
  readonly problems: readonly PolicyProblem[]
}

/** What a route loses to another one at a port. */
export interface RouteLoss {
  readonly route: RouteRef
  readonly holder: RouteRef
  /** Server names; absent: everything. */
  readonly serverNames?: readonly string[]
}

/**
 * Where routes of the Gateway API send the connections to a service port; undefined if none is attached to it. TLSRoutes hold before TCPRoutes: connections
 * for other server names, and those without, are closed. A server name is of the oldest TLSRoute that has it, and of TCPRoutes the oldest holds. Routes are those
 * of the namespace of the service, or of the one of the callers if that is given: these replace the others for its callers.
 */
export const connectionPlan = defineQuery<CatalogState, CalledPortRef, ConnectionPlan | undefined>({
  name: 'gateway-connection-plan',
  keyOf: calledPortKey,
  equal: deepEqual,
  compute: (context, key) => {
    const byName = attachedRoutes(context, key, 'TLSRoute')
    const others = attachedRoutes(context, key, 'GatewayTCPRoute')
    const [holder] = [...byName, ...others]
    if (holder === undefined) return undefined
    const lost = (rest: readonly AttachedRoute[]): readonly RouteLoss[] =>
      rest.map(({ route }) => ({ route, holder: holder.route }))
    if (byName.length === 0)
      return { routes: [connectionsOf(context, key, holder)], losses: lost(others.slice(1)), problems: [] }
    const plan = planByName(context, key, byName)
    return { ...plan, losses: [...plan.losses, ...lost(others)] }
  },
})

/** Routes of server names in their order: the first that has a name gets it. */
function planByName(context: Context, port: CalledPortRef, attached: readonly AttachedRoute[]): ConnectionPlan {
  const owners = new Map<string, RouteRef<ConnectionRouteKind>>()
  const losses: RouteLoss[] = []
  const problems: PolicyProblem[] = []
  const routes = attached.flatMap((each): readonly PlannedConnections[] => {
    const { route, analysis } = each
    const names = analysis.serverNames ?? []
    if (owners.size + names.length > MAX_PORT_ROUTES) {
      const list = new ProblemList(objectRefOf(route.kind, route))
      const what = `is ignored at port ${port.port}: with those before it by age and name, Service ${nameKey(port)} has more server names`
      reportTooMany(list, 'spec.hostnames', what, MAX_PORT_ROUTES, 'use fewer')
      problems.push(...list.items)
      return []
    }
    const taken = names.filter((name) => owners.has(name))
    const own = names.filter((name) => !owners.has(name))
    const holder = owners.get(taken[0] ?? '')
    if (holder !== undefined) losses.push({ route, holder, ...(own.length === 0 ? {} : { serverNames: taken }) })
    for (const name of own) owners.set(name, route)
    return own.length === 0 ? [] : [{ ...connectionsOf(context, port, each), serverNames: own }]
  })
  const origins = attached.map(({ route }) => ({ object: objectRefOf(route.kind, route) }))
  return { routes: [...routes, { targets: [], origins }], losses, problems }
}

function connectionsOf(
  context: Context,
  { readers }: CalledPortRef,
  { route, analysis }: AttachedRoute,
): PlannedConnections {
  return { ...sharesOf(context, analysis.backends, readers), origins: [{ object: objectRefOf(route.kind, route) }] }
}

interface AttachedRoute {
  readonly route: RouteRef<ConnectionRouteKind>
  readonly analysis: ConnectionAnalysis
}

/** In the order in which they have a claim. */
function attachedRoutes(context: Context, port: CalledPortRef, kind: ConnectionRouteKind): readonly AttachedRoute[] {
  return context.get(routesAtPort, { ...port, kind }).flatMap(({ namespace, name }) => {
    const route = { kind, namespace, name }
    const analysis = context.get(connectionAnalysis, route)
    return analysis === undefined ? [] : [{ route, analysis }]
  })
}

/** Shares of backends; those that lead to one upstream are one. */
function sharesOf(
  context: Context,
  backends: readonly ConnectionBackend[],
  readers: string | undefined,
): ConnectionShare {
  const shares = new Map<string, ConnectionShare['targets'][number]>()
  let errorWeight = 0
  for (const { port: meant, weight } of backends) {
    const port = portFor(meant, readers)
    const upstream = port === undefined ? undefined : context.get(upstreamOfPort, port)
    if (upstream === undefined) {
      errorWeight += weight
      continue
    }
    const key = targetPortKey(upstream)
    shares.set(key, { upstream, weight: (shares.get(key)?.weight ?? 0) + weight })
  }
  const targets = [...shares].sort(([a], [b]) => compareText(a, b)).map(([, share]) => share)
  // Without any share, connections are closed as well.
  if (errorWeight === 0 && targets.every(({ weight }) => weight === 0)) return { targets, errorWeight: 1 }
  return errorWeight === 0 ? { targets } : { targets, errorWeight }
}
