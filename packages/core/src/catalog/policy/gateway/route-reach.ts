import type { MeshService } from '@osm-ts/driver-api'

import { isRequestRoute, isConnectionRoute, type RouteRef } from './route-refs.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { sameName, type ServicePortRef } from '../parts/keys.js'
import { connectionAnalysis } from './connection-analysis.js'
import { leadsTo, routeAnalysis } from './route-analysis.js'
import { portFor, type RouteAttachment } from './route-references.js'

type Context = QueryContext<CatalogState>

/** What a route of any kind is attached to; undefined if there is none of that name. */
export function routeAttachment(context: Context, route: RouteRef): RouteAttachment | undefined {
  if (isConnectionRoute(route)) return context.get(connectionAnalysis, route)
  return isRequestRoute(route) ? context.get(routeAnalysis, route) : undefined
}

/**
 * Ports of services whose callers of a namespace a route sends to a service, with requests, copies or connections. Of services of other namespaces than its
 * own it sends callers of its own only.
 */
export function portsLeadingTo(
  context: Context,
  route: RouteRef,
  service: MeshService,
  callers: string,
): readonly ServicePortRef[] {
  const ports = routeAttachment(context, route)?.ports ?? []
  const own = ports.filter(({ namespace }) => namespace === route.namespace)
  const others = callers === route.namespace ? ports.filter(({ namespace }) => namespace !== route.namespace) : []
  return [
    ...(own.length > 0 && leadsThere(context, route, service, undefined) ? own : []),
    ...(others.length > 0 && leadsThere(context, route, service, route.namespace) ? others : []),
  ]
}

function leadsThere(context: Context, route: RouteRef, service: MeshService, readers: string | undefined): boolean {
  if (isConnectionRoute(route))
    return (
      context.get(connectionAnalysis, route)?.backends.some(({ port }) => {
        const found = portFor(port, readers)
        return found !== undefined && sameName(found, service)
      }) ?? false
    )
  const analysis = isRequestRoute(route) ? context.get(routeAnalysis, route) : undefined
  return analysis !== undefined && leadsTo(analysis, service, readers)
}
