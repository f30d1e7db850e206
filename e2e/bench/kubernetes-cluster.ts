import { parseProxyUUID } from '@osm-ts/core'
import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import type { ProxyUUID } from '@osm-ts/driver-api'

import { each } from './each.js'

/** How large a cluster is. Pods and services spread evenly over the namespaces. */
export interface ClusterSize {
  readonly pods: number
  readonly services: number
  readonly namespaces: number
}

/** Requests under way at a time while the cluster is made. */
const WRITERS = 24

/** The namespace of that number. */
export function namespaceName(index: number): string {
  return `team-${index}`
}

/** The service of that number. */
function serviceName(index: number): string {
  return `svc-${index}`
}

/** Makes namespaces of a mesh with services, accounts, pods that run, and the slices that a controller would write. */
export async function createCluster(api: KubernetesApi, size: ClusterSize, signal: AbortSignal): Promise<void> {
  const create = async (type: ResourceType, metadata: KubernetesManifest['metadata'], rest: object = {}) => {
    await api.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest }, { signal })
  }
  await each(numbers(size.namespaces), WRITERS, (index) =>
    create(resourceTypes.Namespace, {
      name: namespaceName(index),
      labels: { 'openservicemesh.io/monitored-by': 'osm' },
    }),
  )
  await each(numbers(size.services), WRITERS, async (index) => {
    const place = { name: serviceName(index), namespace: namespaceName(index % size.namespaces) }
    await create(resourceTypes.ServiceAccount, place)
    await create(resourceTypes.Service, place, {
      spec: {
        clusterIP: 'None',
        selector: { app: place.name },
        ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
      },
    })
  })
  await each(numbers(size.pods), WRITERS, async (index) => {
    const service = index % size.services
    const place = { app: serviceName(service), namespace: namespaceName(service % size.namespaces) }
    const { metadata, spec, status } = meshedPod({ ...place, index, address: addressOf(index) })
    await create(resourceTypes.Pod, metadata, { spec })
    const name = { namespace: metadata.namespace, name: metadata.name }
    await api.mergePatch(resourceTypes.Pod, name, { status }, { subresource: 'status', signal })
  })
  await each(numbers(size.services), WRITERS, async (index) => {
    const name = serviceName(index)
    const endpoints = podsOf(index, size).map((pod) => ({
      addresses: [addressOf(pod)],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', name: `${name}-${pod}`, namespace: namespaceName(index % size.namespaces) },
      nodeName: `node-${pod % 100}`,
      zone: `zone-${pod % 3}`,
    }))
    await create(
      resourceTypes.EndpointSlice,
      {
        name: `${name}-x`,
        namespace: namespaceName(index % size.namespaces),
        labels: { 'kubernetes.io/service-name': name },
      },
      { addressType: 'IPv4', endpoints, ports: [{ name: 'http', port: 8080, protocol: 'TCP' }] },
    )
  })
}

function podsOf(service: number, { pods, services }: ClusterSize): readonly number[] {
  return Array.from({ length: Math.ceil((pods - service) / services) }, (_, replica) => service + replica * services)
}

/** UUID of the proxy of a pod. */
export function proxyUuidOf(index: number): ProxyUUID {
  return parseProxyUUID(`00000000-0000-4000-8000-${String(index).padStart(12, '0')}`)
}

/** Address of a pod. */
export function addressOf(pod: number): string {
  return `10.${1 + Math.floor(pod / 60_000)}.${Math.floor(pod / 250) % 240}.${1 + (pod % 250)}`
}

/** Which pod is made. */
export interface MeshedPodOptions {
  /** Its label `app` and its service account. */
  readonly app: string
  readonly namespace: string
  /** Differs for each pod of a cluster; its proxy UUID ends with it. */
  readonly index: number
  readonly address: string
}

/** A pod with a sidecar, as large as those of real clusters are. */
export function meshedPod({ app, namespace, index, address }: MeshedPodOptions) {
  const env = Array.from({ length: 20 }, (_, number) => ({
    name: `SETTING_${number}`,
    value: `the value of setting ${number} of ${app}`,
  }))
  const probe = { httpGet: { path: '/osm-readiness-probe', port: 15902 }, periodSeconds: 10 }
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '256Mi' } }
  return {
    metadata: {
      name: `${app}-${index}`,
      namespace,
      labels: {
        app,
        version: 'v1',
        'pod-template-hash': '6f7c8d9b54',
        'osm-proxy-uuid': proxyUuidOf(index),
      },
      annotations: {
        'openservicemesh.io/sidecar-class': 'envoy',
        'prometheus.io/scrape': 'true',
        'prometheus.io/port': '15010',
        'prometheus.io/path': '/stats/prometheus',
      },
    },
    spec: {
      serviceAccountName: app,
      volumes: [{ name: 'bootstrap', secret: { secretName: `sidecar-bootstrap-config-${proxyUuidOf(index)}` } }],
      containers: [
        {
          name: 'app',
          image: `registry.example.com/shop/${app}:v1`,
          ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
          env,
          resources,
          readinessProbe: probe,
        },
        {
          name: 'sidecar',
          volumeMounts: [{ name: 'bootstrap', mountPath: '/etc/envoy', readOnly: true }],
          image: 'registry.example.com/envoy:v1',
          args: ['--config-path', '/etc/envoy/bootstrap.yaml', '--service-node', app],
          ports: [15000, 15001, 15003, 15010].map((port) => ({ containerPort: port, protocol: 'TCP' })),
          resources,
        },
      ],
    },
    status: {
      phase: 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  }
}

function numbers(count: number): Iterable<number> {
  return Array.from({ length: count }).keys()
}
