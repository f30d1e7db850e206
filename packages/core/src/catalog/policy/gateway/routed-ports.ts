import type { MeshService } from '@osm-ts/driver-api'

import type { GatewayRouteKind } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { nameKey, readersKey, sameName, type CalledPortRef } from '../parts/keys.js'
import { combinationsInAll } from '../problems/combinations.js'
import { compareRoutes } from './route-order.js'
import { routeAttachment } from './route-reach.js'
import { routesBy, type RouteRef } from './route-refs.js'

/** A service for whose ports routes of a kind are looked up: those of its own namespace, or of the one of the callers if that is given. */
interface RoutedService<K extends GatewayRouteKind = GatewayRouteKind> extends MeshService {
  readonly kind: K
  readonly readers?: string
}

interface RoutedPorts {
  /** By port number, in the order in which they have a claim. */
  readonly byPort: Readonly<Record<string, readonly RouteRef[]>>
  /** Routes that do not apply, because those before them use up what one service may have. */
  readonly beyond: readonly RouteRef[]
}

/**
 * Routes of a kind at the ports of a service. A sidecar gets what a route says once for each port, so that the bound is on all ports together.
 */
const routedPorts = defineQuery<CatalogState, RoutedService, RoutedPorts>({
  name: 'gateway-routed-ports',
  keyOf: ({ kind, readers, ...service }) => `${kind} ${nameKey(service)}${readersKey({ ...(readers && { readers }) })}`,
  equal: deepEqual,
  compute: (context, { kind, readers, ...service }) => {
    const candidates =
      readers === undefined
        ? routesBy(context, 'parent', nameKey(service), [kind])
        : routesBy(context, 'consumer', readers, [kind])
    const attached = candidates.flatMap((route) => {
      const { ports = [], createdAt = '', cost = 0 } = routeAttachment(context, route) ?? {}
      const own = ports.filter((port) => sameName(port, service))
      return own.length === 0 ? [] : [{ ...route, route, createdAt, cost: cost * own.length, ports: own }]
    })
    const byPort = new Map<string, RouteRef[]>()
    const beyond: RouteRef[] = []
    let sum = 0
    for (const { route, cost, ports } of attached.sort(compareRoutes)) {
      if (sum + cost > combinationsInAll.gatewayRoutes) {
        beyond.push(route)
        continue
      }
      sum += cost
      for (const { port } of ports) {
        const routes = byPort.get(String(port)) ?? []
        routes.push(route)
        byPort.set(String(port), routes)
      }
    }
    return { byPort: Object.fromEntries(byPort), beyond }
  },
})

/** Routes of a kind at a service port, in the order in which they have a claim. */
export const routesAtPort = defineQuery<CatalogState, RoutedService & CalledPortRef, readonly RouteRef[]>({
  name: 'gateway-routes-at-port',
  keyOf: ({ kind, readers, port, ...service }) =>
    `${kind} ${nameKey(service)}|${port}${readersKey({ ...(readers && { readers }) })}`,
  equal: deepEqual,
  compute: (context, { port, ...service }) => context.get(routedPorts, service).byPort[port] ?? [],
})

/** True for a route that does not apply to a service because of the bound on its routes. */
export function isBeyondBound(context: QueryContext<CatalogState>, route: RouteRef, service: MeshService): boolean {
  const { namespace, name } = service
  const callers = namespace === route.namespace ? {} : { readers: route.namespace }
  return context
    .get(routedPorts, { kind: route.kind, namespace, name, ...callers })
    .beyond.some((other) => sameName(other, route))
}
