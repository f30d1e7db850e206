import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import { SortedIndex, type Edit } from '../../snapshot/sorted-index.js'
import { dialledPorts, isOfKind, type Kind, type KindMap, type MeshObject } from '../../spec/index.js'
import { nameKey, sortedUnique, type NamespacedName } from '../policy/parts/keys.js'
import {
  apexOf,
  backendsOf,
  connectionBackendsOf,
  consumersOf,
  destinationOf,
  egressSourcesOf,
  gatewayServicesOf,
  openedServicesOf,
  parentsOf,
  retrySourceOf,
  routeBackendsOf,
  ruledEgressesOf,
  settingHostCandidates,
  sourcesOf,
} from './references.js'

/** What a policy object is found by. */
export interface IndexedBy {
  readonly targetsByDestination: KindMap['TrafficTarget']
  readonly targetsBySource: KindMap['TrafficTarget']
  readonly splitsByApex: KindMap['TrafficSplit']
  readonly splitsByBackend: KindMap['TrafficSplit']
  readonly routesByParent: KindMap['HTTPRoute']
  readonly routesByConsumer: KindMap['HTTPRoute']
  readonly routesByBackend: KindMap['HTTPRoute']
  readonly grpcRoutesByParent: KindMap['GRPCRoute']
  readonly grpcRoutesByConsumer: KindMap['GRPCRoute']
  readonly grpcRoutesByBackend: KindMap['GRPCRoute']
  readonly tcpRoutesByParent: KindMap['GatewayTCPRoute']
  readonly tlsRoutesByParent: KindMap['TLSRoute']
  readonly tcpRoutesByConsumer: KindMap['GatewayTCPRoute']
  readonly tlsRoutesByConsumer: KindMap['TLSRoute']
  readonly tcpRoutesByBackend: KindMap['GatewayTCPRoute']
  readonly tlsRoutesByBackend: KindMap['TLSRoute']
  readonly ingressByService: KindMap['IngressBackend']
  readonly accessByService: KindMap['AccessControl']
  readonly retriesBySource: KindMap['Retry']
  readonly egressBySource: KindMap['Egress']
  readonly gatewaysByEgress: KindMap['EgressGateway']
  readonly gatewaysByService: KindMap['EgressGateway']
  readonly servicesByPort: KindMap['Service']
  readonly servicesByTargetPort: KindMap['Service']
  readonly settingsByService: KindMap['UpstreamTrafficSetting']
}

/** Name of an index. */
export type IndexName = keyof IndexedBy

type IndexDefinitions = {
  readonly [N in IndexName]: {
    readonly kind: IndexedBy[N]['kind']
    readonly keysOf: (object: IndexedBy[N]) => readonly string[]
  }
}

const names = (items: readonly (MeshService | ServiceAccountRef)[]): readonly string[] =>
  sortedUnique(items.map(nameKey))

/** Every index: the kind it holds and the keys under which an object of that kind is found. */
const indexDefinitions: IndexDefinitions = {
  targetsByDestination: { kind: 'TrafficTarget', keysOf: (target) => [nameKey(destinationOf(target))] },
  targetsBySource: { kind: 'TrafficTarget', keysOf: (target) => names(sourcesOf(target)) },
  splitsByApex: {
    kind: 'TrafficSplit',
    keysOf: (split) => {
      const apex = apexOf(split)
      return apex === undefined ? [] : [nameKey(apex)]
    },
  },
  splitsByBackend: { kind: 'TrafficSplit', keysOf: (split) => names(backendsOf(split)) },
  routesByParent: { kind: 'HTTPRoute', keysOf: (route) => names(parentsOf(route)) },
  routesByConsumer: { kind: 'HTTPRoute', keysOf: consumersOf },
  routesByBackend: { kind: 'HTTPRoute', keysOf: (route) => names(routeBackendsOf(route)) },
  grpcRoutesByParent: { kind: 'GRPCRoute', keysOf: (route) => names(parentsOf(route)) },
  grpcRoutesByConsumer: { kind: 'GRPCRoute', keysOf: consumersOf },
  grpcRoutesByBackend: { kind: 'GRPCRoute', keysOf: (route) => names(routeBackendsOf(route)) },
  tcpRoutesByParent: { kind: 'GatewayTCPRoute', keysOf: (route) => names(parentsOf(route)) },
  tlsRoutesByParent: { kind: 'TLSRoute', keysOf: (route) => names(parentsOf(route)) },
  tcpRoutesByConsumer: { kind: 'GatewayTCPRoute', keysOf: consumersOf },
  tlsRoutesByConsumer: { kind: 'TLSRoute', keysOf: consumersOf },
  tcpRoutesByBackend: { kind: 'GatewayTCPRoute', keysOf: (route) => names(connectionBackendsOf(route)) },
  tlsRoutesByBackend: { kind: 'TLSRoute', keysOf: (route) => names(connectionBackendsOf(route)) },
  ingressByService: { kind: 'IngressBackend', keysOf: (ingress) => names(openedServicesOf(ingress)) },
  accessByService: { kind: 'AccessControl', keysOf: (access) => names(openedServicesOf(access)) },
  retriesBySource: { kind: 'Retry', keysOf: (retry) => [nameKey(retrySourceOf(retry))] },
  egressBySource: { kind: 'Egress', keysOf: (egress) => names(egressSourcesOf(egress)) },
  gatewaysByEgress: { kind: 'EgressGateway', keysOf: (gateway) => names(ruledEgressesOf(gateway)) },
  gatewaysByService: { kind: 'EgressGateway', keysOf: (gateway) => names(gatewayServicesOf(gateway)) },
  servicesByPort: {
    kind: 'Service',
    keysOf: (service) => sortedUnique(dialledPorts(service).map(({ port }) => String(port))),
  },
  servicesByTargetPort: {
    kind: 'Service',
    keysOf: ({ spec }) =>
      sortedUnique(
        spec.ports.flatMap(({ port, targetPort = port }) =>
          typeof targetPort === 'number' ? [String(targetPort)] : [],
        ),
      ),
  },
  settingsByService: { kind: 'UpstreamTrafficSetting', keysOf: (setting) => names(settingHostCandidates(setting)) },
}

/** Names of all indexes. */
export const indexNames = Object.keys(indexDefinitions) as readonly IndexName[]

type Indexes = { readonly [N in IndexName]: SortedIndex<IndexedBy[N]> }

/** Finds policy objects by what they refer to. Immutable; versions share what did not change. */
export class PolicyIndexes {
  readonly #indexes: Indexes

  private constructor(indexes: Indexes) {
    this.#indexes = indexes
  }

  static empty(): PolicyIndexes {
    const create = <T extends MeshObject>(keysOf: (object: T) => readonly string[]): SortedIndex<T> =>
      SortedIndex.create(keysOf)
    return new PolicyIndexes({
      targetsByDestination: create(indexDefinitions.targetsByDestination.keysOf),
      targetsBySource: create(indexDefinitions.targetsBySource.keysOf),
      splitsByApex: create(indexDefinitions.splitsByApex.keysOf),
      splitsByBackend: create(indexDefinitions.splitsByBackend.keysOf),
      routesByParent: create(indexDefinitions.routesByParent.keysOf),
      routesByConsumer: create(indexDefinitions.routesByConsumer.keysOf),
      routesByBackend: create(indexDefinitions.routesByBackend.keysOf),
      grpcRoutesByParent: create(indexDefinitions.grpcRoutesByParent.keysOf),
      grpcRoutesByConsumer: create(indexDefinitions.grpcRoutesByConsumer.keysOf),
      grpcRoutesByBackend: create(indexDefinitions.grpcRoutesByBackend.keysOf),
      tcpRoutesByParent: create(indexDefinitions.tcpRoutesByParent.keysOf),
      tlsRoutesByParent: create(indexDefinitions.tlsRoutesByParent.keysOf),
      tcpRoutesByConsumer: create(indexDefinitions.tcpRoutesByConsumer.keysOf),
      tlsRoutesByConsumer: create(indexDefinitions.tlsRoutesByConsumer.keysOf),
      tcpRoutesByBackend: create(indexDefinitions.tcpRoutesByBackend.keysOf),
      tlsRoutesByBackend: create(indexDefinitions.tlsRoutesByBackend.keysOf),
      ingressByService: create(indexDefinitions.ingressByService.keysOf),
      accessByService: create(indexDefinitions.accessByService.keysOf),
      retriesBySource: create(indexDefinitions.retriesBySource.keysOf),
      egressBySource: create(indexDefinitions.egressBySource.keysOf),
      gatewaysByEgress: create(indexDefinitions.gatewaysByEgress.keysOf),
      gatewaysByService: create(indexDefinitions.gatewaysByService.keysOf),
      servicesByPort: create(indexDefinitions.servicesByPort.keysOf),
      servicesByTargetPort: create(indexDefinitions.servicesByTargetPort.keysOf),
      settingsByService: create(indexDefinitions.settingsByService.keysOf),
    })
  }

  /** Names of the objects under a key, sorted. */
  find(index: IndexName, key: string): readonly NamespacedName[] {
    return this.#indexes[index].get(key).map(({ metadata: { namespace, name } }) => ({ namespace, name }))
  }

  with(edits: readonly Edit<MeshObject>[]): PolicyIndexes {
    const edited = <K extends Kind>(kind: K): readonly Edit<KindMap[K]>[] => edits.flatMap((edit) => narrow(edit, kind))
    const targets = edited('TrafficTarget')
    const splits = edited('TrafficSplit')
    const gateways = edited('EgressGateway')
    const routes = edited('HTTPRoute')
    const grpcRoutes = edited('GRPCRoute')
    const tcpRoutes = edited('GatewayTCPRoute')
    const tlsRoutes = edited('TLSRoute')
    const { targetsByDestination, targetsBySource, splitsByApex, splitsByBackend } = this.#indexes
    return new PolicyIndexes({
      targetsByDestination: targetsByDestination.with(targets),
      targetsBySource: targetsBySource.with(targets),
      splitsByApex: splitsByApex.with(splits),
      splitsByBackend: splitsByBackend.with(splits),
      routesByParent: this.#indexes.routesByParent.with(routes),
      routesByConsumer: this.#indexes.routesByConsumer.with(routes),
      routesByBackend: this.#indexes.routesByBackend.with(routes),
      grpcRoutesByParent: this.#indexes.grpcRoutesByParent.with(grpcRoutes),
      grpcRoutesByConsumer: this.#indexes.grpcRoutesByConsumer.with(grpcRoutes),
      grpcRoutesByBackend: this.#indexes.grpcRoutesByBackend.with(grpcRoutes),
      tcpRoutesByParent: this.#indexes.tcpRoutesByParent.with(tcpRoutes),
      tlsRoutesByParent: this.#indexes.tlsRoutesByParent.with(tlsRoutes),
      tcpRoutesByConsumer: this.#indexes.tcpRoutesByConsumer.with(tcpRoutes),
      tlsRoutesByConsumer: this.#indexes.tlsRoutesByConsumer.with(tlsRoutes),
      tcpRoutesByBackend: this.#indexes.tcpRoutesByBackend.with(tcpRoutes),
      tlsRoutesByBackend: this.#indexes.tlsRoutesByBackend.with(tlsRoutes),
      ingressByService: this.#indexes.ingressByService.with(edited('IngressBackend')),
      accessByService: this.#indexes.accessByService.with(edited('AccessControl')),
      retriesBySource: this.#indexes.retriesBySource.with(edited('Retry')),
      egressBySource: this.#indexes.egressBySource.with(edited('Egress')),
      gatewaysByEgress: this.#indexes.gatewaysByEgress.with(gateways),
      gatewaysByService: this.#indexes.gatewaysByService.with(gateways),
      servicesByPort: this.#indexes.servicesByPort.with(edited('Service')),
      servicesByTargetPort: this.#indexes.servicesByTargetPort.with(edited('Service')),
      settingsByService: this.#indexes.settingsByService.with(edited('UpstreamTrafficSetting')),
    })
  }
}

/** Keys of one index under which an object is found; none for objects of other kinds. */
export function keysIn(index: IndexName, object: MeshObject): readonly string[] {
  const { kind, keysOf } = indexDefinitions[index]
  // The kind of the object is compared with that of the index, so that it is what `keysOf` takes.
  return object.kind === kind ? (keysOf as (object: MeshObject) => readonly string[])(object) : []
}

function narrow<K extends Kind>({ before, after }: Edit<MeshObject>, kind: K): readonly Edit<KindMap[K]>[] {
  const earlier = before && isOfKind(before, kind) ? (before as unknown as KindMap[K]) : undefined
  const later = after && isOfKind(after, kind) ? (after as unknown as KindMap[K]) : undefined
  return earlier === undefined && later === undefined ? [] : [{ before: earlier, after: later }]
}
