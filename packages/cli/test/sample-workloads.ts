import type { KubernetesObject } from '@osm-ts/kubernetes'

import type { RestartableKind, RestartableWorkload, SidecarPod } from '../src/migration/workloads.js'

/** What a sample varies in. */
export interface SampleWorkload {
  readonly kind?: RestartableKind
  readonly spec?: object
  readonly status?: object
  readonly annotations?: object
  readonly pods?: readonly SidecarPod[]
}

/** A workload whose one pod is what it should be, unless something else is said. */
export function sampleWorkload(
  name: string,
  {
    kind = 'Deployment',
    spec = {},
    status,
    annotations = {},
    pods = [sidecarPod(`${name}-0`, 'envoy')],
  }: SampleWorkload = {},
): RestartableWorkload {
  const object: KubernetesObject = {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'shop', uid: `uid-of-${name}`, generation: 2 },
    spec: { replicas: 1, ...spec, template: { metadata: { labels: { app: name }, annotations } } },
    status: status ?? { observedGeneration: 2, ...complete[kind] },
  }
  return { kind, name, object, pods }
}

/** A pod that is ready; without a class it has no sidecar. */
export function sidecarPod(name: string, sidecarClass?: string, more: Partial<SidecarPod> = {}): SidecarPod {
  const sidecar = sidecarClass === undefined ? {} : { uuid: `uuid-of-${name}`, sidecarClass }
  return { name, ready: true, summary: 'Running, ready', ...sidecar, ...more }
}

const complete: Readonly<Record<RestartableKind, object>> = {
  Deployment: { replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
  StatefulSet: { readyReplicas: 1, updatedReplicas: 1, currentRevision: 'a', updateRevision: 'a' },
  DaemonSet: { desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1 },
}
