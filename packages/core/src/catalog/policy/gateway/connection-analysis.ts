import type { ConnectionRouteKind, KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs } from '../../inputs/inputs.js'
import { sortedUnique } from '../parts/keys.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import {
  attachmentOf,
  backendPort,
  bytePorts,
  tlsPorts,
  type RouteAttachment,
  type RoutedPort,
} from './route-references.js'
import { routeKey, type RouteRef } from './route-refs.js'

/** A share of connections; undefined in place of a port stands for a backend that cannot be used. */
export interface ConnectionBackend {
  readonly port: RoutedPort | undefined
  readonly weight: number
}

/** What a route of connections says. */
export interface ConnectionAnalysis extends RouteAttachment {
  /** Server names of a TLSRoute, sorted; absent for connections of any kind. */
  readonly serverNames?: readonly string[]
  readonly backends: readonly ConnectionBackend[]
  readonly problems: readonly PolicyProblem[]
}

/** What a route of connections says; undefined if there is none of that name. */
export const connectionAnalysis = defineQuery<
  CatalogState,
  RouteRef<ConnectionRouteKind>,
  ConnectionAnalysis | undefined
>({
  name: 'gateway-connection-analysis',
  keyOf: routeKey,
  equal: deepEqual,
  compute: (context, key) => {
    const route = routeOf(context, key)
    if (route === undefined) return undefined
    const problems = new ProblemList(objectRefOf(key.kind, key))
    const references = { context, route, problems, fits: key.kind === 'TLSRoute' ? tlsPorts : bytePorts }
    const backends = route.spec.rules.flatMap(({ backendRefs }, rule) =>
      backendRefs.map((backend, place): ConnectionBackend => {
        const field = `spec.rules[${rule}].backendRefs[${place}]`
        const port = backendPort(references, backend, field, 'its share of the connections is closed')
        return { port, weight: backend.weight }
      }),
    )
    const serverNames: Pick<ConnectionAnalysis, 'serverNames'> =
      route.kind === 'TLSRoute' ? { serverNames: sortedUnique(route.spec.hostnames) } : {}
    const cost = backends.length + (serverNames.serverNames?.length ?? 0)
    return { ...serverNames, backends, ...attachmentOf(references, cost), problems: problems.items }
  },
})

function routeOf(
  context: QueryContext<CatalogState>,
  { kind, namespace, name }: RouteRef<ConnectionRouteKind>,
): KindMap[ConnectionRouteKind] | undefined {
  const key = { namespace, name }
  return kind === 'TLSRoute' ? context.get(objectInputs.TLSRoute, key) : context.get(objectInputs.GatewayTCPRoute, key)
}
