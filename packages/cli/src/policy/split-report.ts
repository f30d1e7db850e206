import { type GatewayRouteKind, type KindMap, objectKey, objectRef, type Problem, type Snapshot } from '@osm-ts/core'

import type { CliErrorCode } from '../errors.js'
import type { SplitMesh } from './gateway-routes.js'
import type { httpPorts } from './routed-ports.js'

/** Collects what SMI cannot say. */
export class SplitReport {
  readonly problems: Problem[] = []
  readonly #mesh: SplitMesh

  constructor(mesh: SplitMesh) {
    this.#mesh = mesh
  }

  error(route: KindMap[GatewayRouteKind], code: CliErrorCode, field: string, message: string): void {
    const origin = this.#mesh.locate(objectKey(route), field)
    const object = objectRef(route)
    this.problems.push({ code, severity: 'error', message, object, field, ...(origin && { origin }) })
  }
}

/**
 * Services of the own namespace that a route is attached to, with the ports. TrafficSplits of other namespaces have no effect.
 *
 * @param portsOf - ports that routes of the kind can be attached to
 */
export function parentsOf(
  snapshot: Snapshot,
  route: KindMap[GatewayRouteKind],
  portsOf: typeof httpPorts,
  report: SplitReport,
): readonly { readonly service: KindMap['Service']; readonly ports: readonly number[] }[] {
  const { namespace: own } = route.metadata
  const found = new Map<string, { readonly service: KindMap['Service']; readonly ports: Set<number> }>()
  for (const [index, parent] of route.spec.parentRefs.entries()) {
    const { group, kind, namespace = own, name, port, sectionName } = parent
    if (group !== '' || kind !== 'Service') continue
    const lost = (message: string): void => {
      report.error(route, 'OSM_CLI_SPLIT_PARENT', `spec.parentRefs[${index}]`, `${message}; the route is omitted there`)
    }
    const service = snapshot.get('Service', namespace, name)
    if (namespace !== own) lost('a TrafficSplit applies to all clients, not to those of one namespace')
    else if (service === undefined) lost(`there is no Service ${namespace}/${name}`)
    else {
      const ports = portsOf(service).filter(
        (each) => each.port === (port ?? each.port) && each.name === (sectionName ?? each.name),
      )
      const known = found.get(name) ?? { service, ports: new Set<number>() }
      for (const each of ports) known.ports.add(each.port)
      found.set(name, known)
    }
  }
  return [...found.values()].map(({ service, ports }) => ({ service, ports: [...ports] }))
}
