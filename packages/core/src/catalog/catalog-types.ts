import type {
  MeshService,
  PartHash,
  PartRef,
  ProxyPart,
  ProxyUUID,
  RouteMatch,
  ServiceAccountRef,
} from '@osm-ts/driver-api'

import type { Endpoint } from '../endpoints/index.js'
import type { ObjectOrigin, ObjectRef } from '../problem.js'
import type { KindMap, WeightedService } from '../spec/index.js'

/** An account and the services that it is behind: one end of a traffic policy. */
export interface TrafficResource {
  readonly account: ServiceAccountRef
  readonly services: readonly MeshService[]
}

/** Traffic that one TrafficTarget allows from one source. */
export interface TrafficPolicy {
  /** The TrafficTarget. */
  readonly target: ObjectRef
  readonly source: TrafficResource
  readonly destination: TrafficResource
  /** HTTP requests that are allowed; where TCPRoutes stand beside them, on their ports only. */
  readonly httpRoutes: readonly RouteMatch[]
  /** Ports of the workloads that TCPRoutes open; `*` stands for all. */
  readonly tcpPorts: readonly number[] | '*'
}

/** SMI policy, kind by kind. */
export interface SmiPolicies {
  readonly trafficSplits: readonly KindMap['TrafficSplit'][]
  readonly weightedServices: readonly WeightedService[]
  readonly serviceAccounts: readonly ServiceAccountRef[]
  readonly httpRouteGroups: readonly KindMap['HTTPRouteGroup'][]
  readonly trafficTargets: readonly KindMap['TrafficTarget'][]
}

/** The share of the traffic of its apexes that a service gets. */
export interface WeightedServiceUpstream {
  readonly service: MeshService
  /** Weight in the first TrafficSplit by name that has the service as a backend; 100 if none has. */
  readonly weight: number
  /** Ids of the service's upstreams, one for each port that workloads are behind. */
  readonly upstreams: readonly string[]
}

/** Callers from outside the mesh that one backend of an IngressBackend lets in. */
export interface IngressTrafficPolicy {
  /** The IngressBackend. */
  readonly ingress: ObjectRef
  /** Port of the workloads. */
  readonly targetPort: number
  readonly protocol: string
  /** Host names that requests must be for; `*` stands for any. */
  readonly hosts: readonly string[]
  readonly routes: readonly RouteMatch[]
  /** Addresses and ranges that connections must come from; sorted. */
  readonly sources: readonly string[]
  /** Names that a client certificate must hold one of; sorted. */
  readonly principals: readonly string[]
  readonly tls: 'none' | 'tls' | 'mtls'
}

/** Endpoints that a client should know. */
export interface EndpointsForClient {
  readonly endpoints: readonly { readonly service: MeshService; readonly endpoints: readonly Endpoint[] }[]
  /** True if they differ from what the last call for the same client gave. The first call gives true. */
  readonly changed: boolean
}

/** A proxy that was issued a certificate, is connected, and stands before a workload that endpoints providers know. */
export interface Participant {
  readonly uuid: ProxyUUID
  readonly commonName: string
  readonly services: readonly MeshService[]
}

/** A policy and everything it refers to, by reference. */
export interface PolicyOverview {
  readonly version: PartHash
  readonly proxy: ProxyPart
  readonly refs: readonly PartRef[]
}

/** An object that an element of a policy came from, and where it is written down. */
export interface LocatedSource {
  readonly object: ObjectRef
  readonly field?: string
  /** Undefined if the object is gone: the part belongs to an older version. */
  readonly origin: ObjectOrigin | undefined
}
