import {
  compareBy,
  compareCanonical,
  compareText,
  type ConnectionShares,
  type OutboundRoute,
  type RouteTarget,
  type WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import type { RouteShare, Shares } from '../config/types.js'
import { messageChanges } from './route-changes.js'

/** No upstream has this name: connections of its share are closed. */
const CLOSED = ''

/** Shares of connections: upstreams that get any, sorted; then what is closed. */
export function connectionShares({ targets, errorWeight = 0 }: ConnectionShares): Shares {
  return [...sharesOf(targets), ...(errorWeight > 0 ? [{ upstream: CLOSED, weight: errorWeight }] : [])]
}

/** Upstreams that get any traffic, sorted. */
export function sharesOf(targets: readonly WeightedUpstream[]): Shares {
  return targets
    .filter(({ weight }) => weight > 0)
    .map(({ upstream, weight }) => ({ upstream, weight }))
    .sort((a, b) => compareText(a.upstream, b.upstream))
}

const compareTargets = compareBy<RouteTarget>((a, b) => compareText(a.upstream, b.upstream), compareCanonical)

/** Shares of the requests of a route, sorted; the one that is answered with an error comes last. */
export function routeShares({ targets, errorWeight = 0, errorStatus }: OutboundRoute): readonly RouteShare[] {
  const shares: readonly RouteShare[] = targets
    .filter(({ weight }) => weight > 0)
    .sort(compareTargets)
    .map((target) => ({ upstream: target.upstream, weight: target.weight, ...messageChanges(target) }))
  return errorWeight > 0 ? [...shares, { status: errorStatus ?? 500, weight: errorWeight }] : shares
}
