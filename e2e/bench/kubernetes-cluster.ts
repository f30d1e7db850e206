import { parseProxyUUID } from '@osm-ts/core'
import { manifests, type Place } from '@osm-ts/core/testing'
import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import type { ProxyUUID } from '@osm-ts/driver-api'

import { each } from './each.js'

/** A pod of a workload, which has the name of its service and account. Its number differs for each pod of a cluster; its proxy UUID ends with it. */
export interface NumberedPod extends Place {
  readonly index: number
}

/** Requests under way at a time while objects are created. */
export const WRITERS = 24

/** The type of an object of which a mesh consists. */
export function typeOf({ kind }: KubernetesManifest): ResourceType {
  return resourceTypes[kind as keyof typeof resourceTypes]
}

/** Kinds that others need: a pod is refused until its account is there. */
const first = ['Namespace', 'ServiceAccount']

/** Creates namespaces, then accounts, and then everything else. Pods get their status as well. */
export async function createObjects(
  api: KubernetesApi,
  objects: readonly KubernetesManifest[],
  signal: AbortSignal,
): Promise<void> {
  const stages = first.map((kind) => objects.filter((object) => object.kind === kind))
  for (const stage of [...stages, objects.filter(({ kind }) => !first.includes(kind))])
    await each(stage, WRITERS, async ({ status, ...object }) => {
      const type = typeOf(object)
      await api.create(type, { ...object, apiVersion: apiVersionOf(type) }, { signal, answer: 'metadata' })
      if (status === undefined) return
      const { namespace = '', name } = object.metadata
      await api.mergePatch(type, { namespace, name }, { status }, { subresource: 'status', signal })
    })
}

/** Creates a namespace of the mesh. */
export function meshedNamespace(name: string): KubernetesManifest {
  const labels = { 'openservicemesh.io/monitored-by': 'osm', 'kubernetes.io/metadata.name': name }
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

/** A service with all that belongs to it, which no one may call yet. */
export function serviceObjects(
  { namespace, name }: Place,
  pods: readonly NumberedPod[],
  clusterIP: string,
): readonly KubernetesManifest[] {
  const place = { namespace, name }
  return [
    manifests.account(place),
    manifests.service(place, { targetPort: 'http', protocol: 'TCP' }, { clusterIP }),
    ...pods.map((pod) => meshedPod(pod)),
    endpointSlice(place, pods),
  ]
}

/** Where the pods of a service are. */
export function endpointSlice({ namespace, name }: Place, pods: readonly NumberedPod[]): KubernetesManifest {
  return {
    apiVersion: apiVersionOf(resourceTypes.EndpointSlice),
    kind: 'EndpointSlice',
    metadata: { name: `${name}-x`, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: pods.map(({ index }) => ({
      addresses: [addressOf(index)],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'Pod', name: `${name}-${index}`, namespace },
      nodeName: `node-${index % 100}`,
      zone: `zone-${index % 3}`,
    })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  }
}

/** UUID of the proxy of a pod. */
export function proxyUuidOf(index: number): ProxyUUID {
  return parseProxyUUID(manifests.uuidOfIndex(index))
}

/** Address of a pod. */
function addressOf(pod: number): string {
  return `10.${1 + Math.floor(pod / 60_000)}.${Math.floor(pod / 250) % 240}.${1 + (pod % 250)}`
}

/** A pod with a sidecar that runs, as large as those of real clusters are. */
export function meshedPod(
  { namespace, name: app, index }: NumberedPod,
  annotations: Readonly<Record<string, string>> = {},
): KubernetesManifest & { readonly spec: object; readonly status: object } {
  const env = Array.from({ length: 20 }, (_, number) => ({
    name: `SETTING_${number}`,
    value: `the value of setting ${number} of ${app}`,
  }))
  const probe = { httpGet: { path: '/osm-readiness-probe', port: 15902 }, periodSeconds: 10 }
  const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1', memory: '256Mi' } }
  const podIP = addressOf(index)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
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
        ...annotations,
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
      podIP,
      podIPs: [{ ip: podIP }],
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  }
}
