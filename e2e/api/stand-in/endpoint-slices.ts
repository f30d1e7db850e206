import { isDeepStrictEqual } from 'node:util'
import { type KubernetesApi, type KubernetesObject, resourceTypes } from '@osm-ts/kubernetes'
import { isPodReady, matches, portNumber, type Pod, type Service } from './objects.js'

/** Keeps the one EndpointSlice of a Service that selects pods as the pods are. */
export async function reconcileEndpoints(
  service: Service,
  pods: readonly Pod[],
  slices: readonly KubernetesObject[],
  api: KubernetesApi,
  signal: AbortSignal,
): Promise<void> {
  const { metadata, spec } = service
  const { selector } = spec
  if (selector === undefined) return
  const name = `${metadata.name}-stand-in`
  const selected = pods.filter((pod) => matches(selector, pod.metadata.labels) && isAlive(pod))
  const content = { addressType: 'IPv4', endpoints: selected.map(endpointOf), ports: portsOf(service, selected[0]) }
  const before = slices.find((slice) => slice.metadata.name === name)
  if (before !== undefined) {
    const { addressType, endpoints = [], ports = [] } = before
    if (isDeepStrictEqual({ addressType, endpoints: endpoints ?? [], ports: ports ?? [] }, content)) return
  }
  const owner = { apiVersion: 'v1', kind: 'Service', name: metadata.name, uid: metadata.uid ?? '', controller: true }
  const manifest = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace: metadata.namespace ?? '',
      labels: { 'kubernetes.io/service-name': metadata.name, 'endpointslice.kubernetes.io/managed-by': 'stand-in' },
      ownerReferences: [owner],
    },
    ...content,
  }
  if (before === undefined) await api.create(resourceTypes.EndpointSlice, manifest, { signal })
  else await api.replace(resourceTypes.EndpointSlice, manifest, { signal })
}

function isAlive({ metadata, status }: Pod): boolean {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  return status?.podIP !== undefined && !isOver && metadata.deletionTimestamp === undefined
}

function endpointOf(pod: Pod): object {
  const ready = isPodReady(pod)
  const { name, namespace, uid } = pod.metadata
  return {
    addresses: [pod.status?.podIP],
    conditions: { ready, serving: ready, terminating: false },
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
}

function portsOf({ spec }: Service, pod: Pod | undefined): readonly object[] {
  if (pod === undefined) return []
  return (spec.ports ?? []).map(({ name = '', port, targetPort = port, protocol = 'TCP', appProtocol }) => ({
    name,
    protocol,
    port: portNumber(targetPort, pod.spec),
    ...(appProtocol !== undefined && { appProtocol }),
  }))
}
