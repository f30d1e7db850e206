import type { MeshService } from '@osm-ts/driver-api'

import { isRequestRoute, isConnectionRoute, type RouteRef } from './route-refs.js'
import type { QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { sameName } from '../parts/keys.js'
import { connectionAnalysis } from './connection-analysis.js'
import { leadsTo, routeAnalysis } from './route-analysis.js'
import type { RouteAttachment } from './route-references.js'

type Context = QueryContext<CatalogState>

/** What a route of any kind is attached to; undefined if there is none of that name. */
export function routeAttachment(context: Context, route: RouteRef): RouteAttachment | undefined {
  if (isConnectionRoute(route)) return context.get(connectionAnalysis, route)
  return isRequestRoute(route) ? context.get(routeAnalysis, route) : undefined
}

/** True if a service gets requests, copies or connections from a route. */
export function routeLeadsTo(context: Context, route: RouteRef, service: MeshService): boolean {
  if (isConnectionRoute(route))
    return (
      context
        .get(connectionAnalysis, route)
        ?.backends.some(({ port }) => port !== undefined && sameName(port, service)) ?? false
    )
  const analysis = isRequestRoute(route) ? context.get(routeAnalysis, route) : undefined
  return analysis !== undefined && leadsTo(analysis, service)
}
