import type { MeshService, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'
import type { PartHash, ProxyPolicy, RouteMatch } from '@osm-ts/driver-api/policy'

import type { Endpoint, EndpointsProvider } from '../endpoints/index.js'
import type { ObjectOrigin, ObjectRef } from '../problem.js'
import type { ProxyRegistry } from '../proxies/index.js'
import type { Enrolment, KindMap, ObjectKey, WeightedService } from '../spec/index.js'
import type { MeshNames } from './inputs/catalog-settings.js'
import type { Origins } from './policy/parts/policy-part.js'
import type { PolicyScope } from './policy-computation.js'

/** Where an object or a field of it is written down. */
export type Locate = (key: ObjectKey, field?: string) => ObjectOrigin | undefined

/** What a catalog is made of. */
export interface MeshCatalogOptions extends MeshNames {
  /** In order of precedence. */
  readonly endpointsProviders: readonly EndpointsProvider[]
  readonly enrolment: Enrolment
  /** The record of proxies that the process shares; absent where no proxy connects. */
  readonly proxies?: ProxyRegistry
  /** Proxies whose policies are kept up to date. Those of all workloads if absent. */
  readonly policyScope?: PolicyScope
  /** Without it, problems and origins name objects, not fields. */
  readonly locate?: Locate
}

/** The document of a policy, and where its parts came from. */
export interface PolicyWithOrigins {
  readonly document: ProxyPolicy
  /** By hash of the part. Parts that came from no object are left out. */
  readonly origins: Readonly<Record<PartHash, Origins>>
}

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
  /** HTTP requests that are allowed; where TCPRoutes are beside them, on their ports only. */
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
  readonly tcpRoutes: readonly KindMap['TCPRoute'][]
  readonly trafficTargets: readonly KindMap['TrafficTarget'][]
}

/** The share of the traffic of its apexes that a service gets. */
export interface WeightedCluster {
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

/** What the mesh says of one service. Identities are `<service account>.<namespace>`, services `<namespace>/<name>`. */
export interface ServiceReport {
  readonly service: MeshService
  /** Accounts that run its workloads: services that each is behind, and whom each may be called by and may call. */
  readonly accounts: readonly {
    readonly identity: string
    readonly services: readonly string[]
    readonly inbound: readonly string[]
    readonly outbound: readonly string[]
  }[]
  /** Services whose workloads may call it. */
  readonly inboundServices: readonly string[]
  /** Traffic that TrafficTargets allow from or to its workloads; none in permissive mode. */
  readonly trafficPolicies: readonly TrafficPolicy[]
  /** Host names by which workloads of its own namespace can call it. */
  readonly hosts: readonly string[]
  /** Its share of the traffic of its apexes. */
  readonly weight: number
  readonly upstreams: readonly string[]
  readonly endpoints: readonly { readonly address: string; readonly port: number; readonly identity?: string }[]
  /** The UpstreamTrafficSetting that limits traffic to it. */
  readonly backpressure?: ObjectRef
  readonly ingress: {
    /** By host name; `*` stands for any. */
    readonly routes: Readonly<Record<string, readonly RouteMatch[]>>
    readonly policies: readonly IngressTrafficPolicy[]
  }
}

/** Endpoints that a client should know. */
export interface EndpointsForClient {
  readonly endpoints: readonly { readonly service: MeshService; readonly endpoints: readonly Endpoint[] }[]
  /** True if they differ from what the last call for the same client gave. The first call gives true. */
  readonly changed: boolean
}

/** A proxy that was issued a certificate, is connected, and is in front of a workload that endpoints providers know. */
export interface Participant {
  readonly uuid: ProxyUUID
  readonly commonName: string
  readonly services: readonly MeshService[]
}

/**
 * How far a proxy has got. `unclaimed`: it was issued a certificate and has not connected. `disconnected`: it was connected and is not any more.
 * `withoutEndpoint`: it is connected, and no service has an endpoint behind it. `participant`: it takes part in the mesh.
 */
export type ParticipationState = 'unclaimed' | 'disconnected' | 'withoutEndpoint' | 'participant'

/** A proxy that was issued a certificate or is connected. */
export interface ProxyParticipation extends Participant {
  /** `<namespace>/<instance>`. */
  readonly name: string
  readonly identity: string
  readonly state: ParticipationState
}

/** An endpoint that no connected proxy stands before. */
export interface EndpointWithoutProxy {
  readonly service: MeshService
  readonly address: string
  readonly port: number
  /** `noSidecar`: the workload has none. `notConnected`: its proxy is not connected. `otherMesh`: its sidecar was not started by this mesh. */
  readonly reason: 'noSidecar' | 'notConnected' | 'otherMesh'
  /** The endpoints provider that has discovered it. */
  readonly provider?: string
}

/** Who takes part in the mesh, and who does not yet. */
export interface ParticipationReport {
  /** Sorted by name. */
  readonly proxies: readonly ProxyParticipation[]
  /** Sorted by service, address and port. */
  readonly endpointsWithoutProxy: readonly EndpointWithoutProxy[]
}

/** An object that an element of a policy came from, and where it is written down. */
export interface LocatedSource {
  readonly object: ObjectRef
  readonly field?: string
  /** Undefined if the object is gone: the part belongs to an older version. */
  readonly origin: ObjectOrigin | undefined
}
