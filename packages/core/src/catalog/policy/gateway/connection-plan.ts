import { compareText } from '@osm-ts/driver-api/policy'

import type { ConnectionRouteKind } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import {
  calledPortKey,
  nameKey,
  servicePortKey,
  targetPortKey,
  type CalledPortRef,
  type TargetPortRef,
} from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf } from '../problems/problems.js'
import { upstreamOfPort } from '../upstreams/upstreams.js'
import { connectionAnalysis, type ConnectionAnalysis, type ConnectionBackend } from './connection-analysis.js'
import { compareRanked } from './route-order.js'
import { routesBy, type RouteRef } from './route-refs.js'

type Context = QueryContext<CatalogState>

/** Where connections to a service port go. */
export interface ConnectionPlan {
  /** The route that says so. */
  readonly holder: RouteRef<ConnectionRouteKind>
  /** Sorted by upstream. */
  readonly targets: readonly { readonly upstream: TargetPortRef; readonly weight: number }[]
  /** Share of connections that is closed, because its backend cannot be used; at least 1. Absent: none. */
  readonly errorWeight?: number
  readonly origins: readonly SourceRef[]
}

/**
 * Where routes of the Gateway API send the connections to a service port; undefined if none is attached to it. Routes of connections are not merged: the
 * oldest holds. They are those of the namespace of the service, or of the one of the callers if that is given: these replace the others for its callers.
 */
export const connectionPlan = defineQuery<CatalogState, CalledPortRef, ConnectionPlan | undefined>({
  name: 'gateway-connection-plan',
  keyOf: calledPortKey,
  equal: deepEqual,
  compute: (context, key) => {
    const [first] = attachedRoutes(context, key)
    if (first === undefined) return undefined
    const { route, analysis } = first
    return {
      holder: route,
      ...sharesOf(context, analysis.backends),
      origins: [{ object: objectRefOf(route.kind, route) }],
    }
  },
})

interface AttachedRoute {
  readonly route: RouteRef<ConnectionRouteKind>
  readonly analysis: ConnectionAnalysis
}

/** In the order in which they have a claim. */
function attachedRoutes(context: Context, port: CalledPortRef): readonly AttachedRoute[] {
  const { readers } = port
  const candidates =
    readers === undefined
      ? routesBy(context, 'parent', nameKey(port), ['GatewayTCPRoute'])
      : routesBy(context, 'consumer', readers, ['GatewayTCPRoute'])
  const key = servicePortKey(port)
  return candidates
    .flatMap((route) => {
      const analysis = context.get(connectionAnalysis, route)
      const isAttached = analysis?.ports.some((candidate) => servicePortKey(candidate) === key) ?? false
      return analysis === undefined || !isAttached
        ? []
        : [{ route, analysis, createdAt: analysis.createdAt, rank: [], place: 0 }]
    })
    .sort(compareRanked)
}

/** Shares of backends; those that lead to one upstream are one. */
function sharesOf(
  context: Context,
  backends: readonly ConnectionBackend[],
): Pick<ConnectionPlan, 'targets' | 'errorWeight'> {
  const shares = new Map<string, ConnectionPlan['targets'][number]>()
  let errorWeight = 0
  for (const { port, weight } of backends) {
    const upstream = port === undefined ? undefined : context.get(upstreamOfPort, port)
    if (upstream === undefined) {
      errorWeight += weight
      continue
    }
    const key = targetPortKey(upstream)
    shares.set(key, { upstream, weight: (shares.get(key)?.weight ?? 0) + weight })
  }
  const targets = [...shares].sort(([a], [b]) => compareText(a, b)).map(([, share]) => share)
  return errorWeight === 0 ? { targets } : { targets, errorWeight }
}
