import { GeneratedMesh, manifests, type Place, readAndWrite } from '@osm-ts/core/testing'
import type { KubernetesManifest } from '@osm-ts/kubernetes'
import type { ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'

import { endpointSlice, meshedNamespace, type NumberedPod, proxyUuidOf, serviceObjects } from '../kubernetes-cluster.js'

/** How large a mesh is. */
export interface ScaleSize {
  readonly services: number
  /** Pods of each service, each with a proxy. */
  readonly replicas: number
  /** One further service for each number; as many proxies may call it. */
  readonly hubs: readonly number[]
  /** True: permissive mode, in which everybody may call everything. */
  readonly permissive: boolean
  /** Only the first so many proxies connect; absent: all. */
  readonly connected?: number
  /** Whose keys service certificates are for; absent: shared. */
  readonly serviceCertificates?: 'shared' | 'perProxy'
}

/** A proxy of a generated mesh. */
export interface ScaleProxy {
  readonly uuid: ProxyUUID
  readonly account: ServiceAccountRef
}

/** Services that each service may call, besides hubs. */
const CALLS = 5
/** Pods of hubs are numbered from here: they have no proxy in a benchmark. */
const FIRST_HUB_POD = 500_000
export const OSM_NAMESPACE = 'osm-system'

function ringOf(services: number): GeneratedMesh {
  return new GeneratedMesh({ services, namespaces: 10, calls: CALLS })
}

/** The service of that number. */
export function serviceOf(index: number): Place {
  return ringOf(0).place(index)
}

/** The pods of the service of that number. */
export function podsOf({ replicas }: ScaleSize, service: number): readonly NumberedPod[] {
  return Array.from({ length: replicas }, (_, n) => ({ ...serviceOf(service), index: service * replicas + n }))
}

/** The pod of that number; those of one service follow each other, as their proxies do. */
export function podOf({ replicas }: ScaleSize, index: number): NumberedPod {
  return { ...serviceOf(Math.floor(index / replicas)), index }
}

/** The service that as many proxies may call. */
export function hubOf(proxies: number): Place {
  return { ...serviceOf(0), name: `hub-${proxies}` }
}

/** Name by which proxies know the endpoints of a service, and the cluster of them. */
export function clusterName({ namespace, name }: Place): string {
  return `${namespace}/${name}|8080`
}

/** Who may call the service of that number. */
export function callersOf({ services }: ScaleSize, index: number): readonly Place[] {
  return ringOf(services).callersOf(index)
}

/** The services that have the first so many proxies. */
export function firstServices({ replicas }: ScaleSize, proxies: number): readonly Place[] {
  return ringOf(0).places(proxies / replicas)
}

/** The proxies of a mesh that connect; those of one service follow each other. */
export function scaleProxies(size: ScaleSize): readonly ScaleProxy[] {
  return Array.from({ length: size.connected ?? size.services * size.replicas }, (_, index) => {
    const { namespace, name } = podOf(size, index)
    return { uuid: proxyUuidOf(index), account: { namespace, name } }
  })
}

/** A mesh with SMI policy in the scopes of accounts, and all that a cluster has of it. */
export function scaleMesh(size: ScaleSize, proxyServerPort: number): readonly KubernetesManifest[] {
  const ring = ringOf(size.services)
  return [
    meshConfig(size, proxyServerPort),
    ...ring.namespaces.map(meshedNamespace),
    ...ring.routeGroups(),
    ...ring
      .places()
      .flatMap((place, index) => [
        ...addressedService(place, podsOf(size, index)),
        trafficTarget(place, ring.callersOf(index)),
      ]),
    ...size.hubs.flatMap((proxies) => [
      ...addressedService(hubOf(proxies), hubPods(size, proxies)),
      trafficTarget(hubOf(proxies), firstServices(size, proxies)),
      // The one that is there last counts.
      hubSlice(size, proxies, false),
    ]),
  ]
}

/** The endpoints of a hub: the first of its two pods, and the second as well if `both`. */
export function hubSlice(size: ScaleSize, proxies: number, both: boolean): KubernetesManifest {
  return endpointSlice(hubOf(proxies), hubPods(size, proxies).slice(0, both ? 2 : 1))
}

/** A service with all that belongs to it, which no one may call yet. Its address follows from its first pod; the addresses of pods lie elsewhere. */
function addressedService(place: Place, pods: readonly NumberedPod[]): readonly KubernetesManifest[] {
  const number = pods[0]?.index ?? 0
  return serviceObjects(place, pods, `172.${16 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`)
}

/** A service that comes later: its one pod has that number, and these may call it. */
export function newService(place: Place, index: number, callers: readonly Place[]): readonly KubernetesManifest[] {
  return [...addressedService(place, [{ ...place, index }]), trafficTarget(place, callers)]
}

/** Who may call a service, on which routes. */
export function trafficTarget(
  place: Place,
  callers: readonly Place[],
  matches: readonly string[] = readAndWrite.map(({ name }) => name),
): KubernetesManifest {
  return manifests.trafficTarget(place, callers, { matches })
}

function hubPods({ hubs }: ScaleSize, proxies: number): readonly NumberedPod[] {
  return [0, 1].map((n) => ({ ...hubOf(proxies), index: FIRST_HUB_POD + 2 * hubs.indexOf(proxies) + n }))
}

function meshConfig(
  { permissive, serviceCertificates = 'shared' }: ScaleSize,
  proxyServerPort: number,
): KubernetesManifest {
  const sidecarImage = 'envoyproxy/envoy:distroless-v1.40.0'
  return manifests.meshConfig({
    sidecar: { sidecarClass: 'envoy', sidecarDrivers: [{ sidecarName: 'envoy', sidecarImage, proxyServerPort }] },
    traffic: { enablePermissiveTrafficPolicyMode: permissive },
    certificate: { serviceCertificates },
  })
}
