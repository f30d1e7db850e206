import type { MeshService, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'
import type { Locality } from '@osm-ts/driver-api/policy'

import { proxyKey, type ProxyKey } from '../identity/proxy-key.js'
import type { Problem } from '../problem.js'
import { nameKey } from '../namespaced-name.js'

/** An address behind one port of a service. */
export interface Endpoint {
  /** IP address, or host name where the provider knows no more. */
  readonly address: string
  /** Port that proxies of clients connect to. */
  readonly port: number
  /** Port of the service. */
  readonly servicePort: number
  /** Port of the workload; differs from `port` where the sidecar publishes its own listener. */
  readonly targetPort: number
  /** Share of the traffic among the endpoints of a service port. */
  readonly weight: number
  /** 0 is used first; a higher number only when no lower one is healthy. */
  readonly priority: number
  /** Identity of the workload, if the provider knows it. */
  readonly account: ServiceAccountRef | undefined
  /**
   * Sidecar in front of the workload; absent without one. `uuid` is empty where the sidecar was not started by this
   * mesh.
   */
  readonly sidecar: EndpointSidecar | undefined
  /** Name of the instance under a headless service. */
  readonly hostname: string | undefined
  readonly locality: Locality
  /** Key of the cluster; empty for the own one. */
  readonly cluster: string
  /** Network that the workload is in; absent for that of the mesh. */
  readonly network?: WorkloadNetwork
  /** Present: the address is what an object, or the workload, says of itself. Nothing proves that it is not that of somebody else. */
  readonly isAddressWritten?: true
}

/** A network that is not routed to others. */
export interface WorkloadNetwork {
  /** DNS label. Workloads of one network reach each other by their own addresses. */
  readonly name: string
  /** What passes connections of others on by their server name. Absent: others reach the workload by its own address. */
  readonly gateway?: NetworkGateway
}

/** A gateway that passes TLS connections on as they are, to where their server name leads. */
export interface NetworkGateway {
  /** IP address. */
  readonly address: string
  /** One port for all connections. Absent: it listens on the port of each Service. */
  readonly port?: number
}

/** The sidecar of an endpoint. */
export interface EndpointSidecar {
  readonly uuid: string
  /** Sidecar class; empty where it is the default of the mesh. */
  readonly class: string
  readonly mode: 'transparent' | 'explicit'
}

/** The proxy in front of an endpoint; undefined where there is none that this mesh has started. */
export function proxyOfEndpoint({ account, sidecar }: Endpoint): ProxyKey | undefined {
  if (account === undefined || sidecar === undefined || sidecar.uuid === '') return undefined
  return proxyKey({ uuid: sidecar.uuid as ProxyUUID, serviceAccount: account }) // of an instance, whose schema demands the form
}

/**
 * What a provider knows.
 *
 * An empty `known` answer means that there is nothing. A provider that fails says `stale` with its last good answer, or
 * `unknown` if it never had one: neither is a reason to take endpoints away.
 */
export type Answer<T> =
  | { readonly state: 'known'; readonly items: readonly T[] }
  | { readonly state: 'stale'; readonly items: readonly T[]; readonly conditions: readonly Problem[] }
  | { readonly state: 'unknown'; readonly items: readonly never[]; readonly conditions: readonly Problem[] }

/** An answer without doubt. */
export function known<T>(items: readonly T[]): Answer<T> {
  return { state: 'known', items }
}

/** Word that answers about these services and identities may differ from now on. */
export interface EndpointsAnnouncement {
  readonly services: readonly MeshService[]
  readonly accounts: readonly ServiceAccountRef[]
}

/**
 * Knows where services run: in a cluster, on machines of a data centre, in a cloud.
 *
 * It knows nothing of SMI policy or of proxies' configuration. Questions are answered from data of the provider,
 * without waiting.
 */
export interface EndpointsProvider {
  /** Unique among the providers of a mesh. */
  readonly id: string
  /** Endpoints of a service that take traffic; sorted by address and port. */
  listEndpointsForService(service: MeshService): Answer<Endpoint>
  /** Identities that the workloads of a service run under, those without a ready endpoint included; sorted. */
  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef>
  /** Services that workloads of an identity are behind; sorted. */
  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService>
  /** Endpoints of all services whose workloads run under an identity; sorted by address and port. */
  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint>
  /** Calls the listener after every change. The result ends it. */
  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void
}

/** Locality of workloads that nothing is known about. */
export const unknownLocality: Locality = Object.freeze({ region: '', zone: '', subZone: '' })

/** Orders endpoints by address, port and service port. */
export function compareEndpoints(a: Endpoint, b: Endpoint): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1
  return a.port - b.port || a.servicePort - b.servicePort
}

/** The endpoints, sorted; of those of one network with equal address, port and service port the first. */
export function uniqueEndpoints(endpoints: Iterable<Endpoint>): readonly Endpoint[] {
  const found = new Map<string, Endpoint>()
  for (const endpoint of endpoints) {
    const key = `${endpoint.address}|${endpoint.port}|${endpoint.servicePort}|${endpoint.network?.name ?? ''}`
    if (!found.has(key)) found.set(key, endpoint)
  }
  return [...found.values()].sort(compareEndpoints)
}

/** Orders services and accounts by namespace and name. */
export function compareNames(a: MeshService, b: MeshService): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}

/** The names, sorted and each once. */
export function sortedNames<T extends MeshService>(names: Iterable<T>): readonly T[] {
  const found = new Map<string, T>()
  for (const name of names) found.set(nameKey(name), name)
  return [...found.values()].sort(compareNames)
}

/** Labels that nodes have, and pods of nodes since Kubernetes 1.35. */
const regionLabel = 'topology.kubernetes.io/region'
const zoneLabel = 'topology.kubernetes.io/zone'

/** Where a workload runs, by its labels; what an endpoint slice says of the zone holds before them. */
export function localityOf(labels: Readonly<Record<string, string>> | undefined, zoneOfSlice?: string): Locality {
  const { [regionLabel]: region = '', [zoneLabel]: labelled = '' } = labels ?? {}
  const zone = zoneOfSlice ?? labelled
  return region === '' && zone === '' ? unknownLocality : { region, zone, subZone: '' }
}
