import type { KubernetesManifest, resourceTypes } from '@osm-ts/kubernetes'
import type { ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'

import { addressOf, meshedPod, proxyUuidOf } from '../kubernetes-cluster.js'

/** Kinds that a generated mesh holds. */
export type MeshKind = keyof typeof resourceTypes

/** An object of a generated mesh, as an API server would store it. */
export interface MeshObject {
  readonly kind: MeshKind
  readonly metadata: KubernetesManifest['metadata']
  readonly rest?: Readonly<Record<string, unknown>>
}

/** How large a mesh is. */
export interface ScaleSize {
  readonly services: number
  /** Pods of each service, each with a proxy. */
  readonly replicas: number
  /** Services that each service may call, besides hubs. */
  readonly calls: number
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

/** A service of a generated mesh. */
export interface ServiceName {
  readonly app: string
  readonly namespace: string
}

/** A pod of a generated mesh. */
export interface ScalePod extends ServiceName {
  readonly index: number
}

const NAMESPACES = 10
/** Pods of hubs are numbered from here: they have no proxy in a benchmark. */
const FIRST_HUB_POD = 500_000
export const OSM_NAMESPACE = 'osm-system'

const namespaceOf = (index: number): string => `ns-${index % NAMESPACES}`

/** The service of that number. */
export function serviceOf(index: number): ServiceName {
  return { app: `svc-${index}`, namespace: namespaceOf(index) }
}

/** The service that as many proxies may call. */
export function hubOf(proxies: number): ServiceName {
  return { app: `hub-${proxies}`, namespace: namespaceOf(0) }
}

/** Who may call the service of that number. */
export function callersOf({ services, calls }: ScaleSize, index: number): readonly ServiceName[] {
  return Array.from({ length: calls }, (_, step) => serviceOf((index + services - 1 - step) % services))
}

/** The services that have the first so many proxies. */
export function firstServices({ replicas }: ScaleSize, proxies: number): readonly ServiceName[] {
  return Array.from({ length: proxies / replicas }, (_, index) => serviceOf(index))
}

/** The proxies of a mesh that connect; those of one service follow each other. */
export function scaleProxies({
  services,
  replicas,
  connected = services * replicas,
}: ScaleSize): readonly ScaleProxy[] {
  return Array.from({ length: connected }, (_, index) => {
    const { app, namespace } = serviceOf(Math.floor(index / replicas))
    return { uuid: proxyUuidOf(index), account: { namespace, name: app } }
  })
}

/** A mesh with SMI policy in the scopes of accounts, and all that a cluster has of it. */
export function scaleMesh(size: ScaleSize, proxyServerPort: number): readonly MeshObject[] {
  const { services, replicas, hubs } = size
  const objects: MeshObject[] = [meshConfig(size, proxyServerPort)]
  for (let n = 0; n < NAMESPACES; n += 1) {
    const name = namespaceOf(n)
    const labels = { 'openservicemesh.io/monitored-by': 'osm', 'kubernetes.io/metadata.name': name }
    objects.push({ kind: 'Namespace', metadata: { name, labels } }, routeGroup(name))
  }
  for (let index = 0; index < services; index += 1) {
    const { app, namespace } = serviceOf(index)
    const pods = Array.from({ length: replicas }, (_, n) => ({ app, namespace, index: index * replicas + n }))
    objects.push(...serviceObjects(app, namespace, pods), trafficTarget(app, namespace, callersOf(size, index)))
  }
  hubs.forEach((proxies, order) => {
    const { app, namespace } = hubOf(proxies)
    objects.push(
      ...serviceObjects(app, namespace, hubPods(proxies, order)),
      trafficTarget(app, namespace, firstServices(size, proxies)),
    )
    // The one that is there last counts.
    objects.push(hubSlice(size, proxies, false))
  })
  return objects
}

/** The endpoints of a hub: the first of its two pods, and the second as well if `both`. */
export function hubSlice(size: ScaleSize, proxies: number, both: boolean): MeshObject {
  const { app, namespace } = hubOf(proxies)
  const [first, second] = hubPods(proxies, size.hubs.indexOf(proxies))
  return slice(app, namespace, [first, ...(both ? [second] : [])])
}

/** A service with all that belongs to it, which no one may call yet. */
export function serviceObjects(app: string, namespace: string, pods: readonly ScalePod[]): readonly MeshObject[] {
  const number = pods[0]?.index ?? 0
  return [
    { kind: 'ServiceAccount', metadata: { name: app, namespace } },
    {
      kind: 'Service',
      metadata: { name: app, namespace },
      rest: {
        spec: {
          // The number of its first pod is its own; the addresses of pods lie elsewhere.
          clusterIP: `172.${16 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`,
          selector: { app },
          ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
        },
      },
    },
    ...pods.map((pod) => podObject(pod)),
    slice(app, namespace, pods),
  ]
}

/** A pod that runs. */
export function podObject(pod: ScalePod, annotations: Readonly<Record<string, string>> = {}): MeshObject {
  const { metadata, spec, status } = meshedPod({ ...pod, address: addressOf(pod.index) })
  return {
    kind: 'Pod',
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    rest: { spec, status },
  }
}

/** Where the pods of a service are. */
export function slice(app: string, namespace: string, pods: readonly ScalePod[]): MeshObject {
  const endpoints = pods.map(({ index }) => ({
    addresses: [addressOf(index)],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'Pod', name: `${app}-${index}`, namespace },
    nodeName: `node-${index % 100}`,
    zone: `zone-${index % 3}`,
  }))
  return {
    kind: 'EndpointSlice',
    metadata: { name: `${app}-x`, namespace, labels: { 'kubernetes.io/service-name': app } },
    rest: { addressType: 'IPv4', endpoints, ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
  }
}

/** Who may call a service, on which routes. */
export function trafficTarget(
  app: string,
  namespace: string,
  callers: readonly ServiceName[],
  routes: readonly string[] = ['read', 'write'],
): MeshObject {
  return {
    kind: 'TrafficTarget',
    metadata: { name: app, namespace },
    rest: {
      spec: {
        destination: { kind: 'ServiceAccount', name: app, namespace },
        rules: [{ kind: 'HTTPRouteGroup', name: 'routes', matches: [...routes] }],
        sources: callers.map((caller) => ({
          kind: 'ServiceAccount',
          name: caller.app,
          namespace: caller.namespace,
        })),
      },
    },
  }
}

function routeGroup(namespace: string): MeshObject {
  return {
    kind: 'HTTPRouteGroup',
    metadata: { name: 'routes', namespace },
    rest: {
      spec: {
        matches: [
          { name: 'read', pathRegex: '/api/.*', methods: ['GET'] },
          { name: 'write', pathRegex: '/api/items', methods: ['POST'] },
        ],
      },
    },
  }
}

function hubPods(proxies: number, order: number): readonly [ScalePod, ScalePod] {
  const index = FIRST_HUB_POD + 2 * order
  return [
    { ...hubOf(proxies), index },
    { ...hubOf(proxies), index: index + 1 },
  ]
}

function meshConfig({ permissive, serviceCertificates = 'shared' }: ScaleSize, proxyServerPort: number): MeshObject {
  return {
    kind: 'MeshConfig',
    metadata: { name: 'osm-mesh-config', namespace: OSM_NAMESPACE },
    rest: {
      spec: {
        sidecar: {
          sidecarClass: 'envoy',
          sidecarDrivers: [
            { sidecarName: 'envoy', sidecarImage: 'envoyproxy/envoy:distroless-v1.40.0', proxyServerPort },
          ],
        },
        traffic: { enablePermissiveTrafficPolicyMode: permissive },
        certificate: { serviceCertificates },
      },
    },
  }
}
