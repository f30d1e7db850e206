import { isRecord } from '@osm-ts/driver-api/toolkit'
import {
  isKubernetesError,
  type KubernetesManifest,
  type KubernetesObject,
  proxyUuidLabel,
  resourceTypes,
  sidecarClassAnnotation,
} from '@osm-ts/kubernetes'

import type { Cluster } from '../kubernetes/open-cluster.js'
import { memberOf, templateAnnotations, type RestartableWorkload } from './workloads.js'

/** Admission of a new pod. `unknown`: the user may not create pods. */
export type Admission =
  | { readonly kind: 'admitted'; readonly sidecarClass: string }
  | { readonly kind: 'refused'; readonly message: string; readonly advice: string }
  | { readonly kind: 'unknown' }

/**
 * Has the API server and its webhooks look at a new pod of a workload, and keeps nothing of it.
 *
 * @param sidecarClass - what the pod asks for; absent: what its namespace says holds
 * @throws KubernetesError if the API server does not answer
 */
export async function tryPod(
  { api }: Pick<Cluster, 'api'>,
  workload: RestartableWorkload,
  sidecarClass: string | undefined,
  signal: AbortSignal,
): Promise<Admission> {
  try {
    const pod = await api.create(resourceTypes.Pod, newPod(workload, sidecarClass), { signal, dryRun: true })
    return admissionOf(pod)
  } catch (error) {
    if (!isKubernetesError(error) || error.status === undefined) throw error
    if (error.forbiddenBy === 'rbac') return { kind: 'unknown' }
    return { kind: 'refused', message: error.message, advice: 'see the log of osm-injector' }
  }
}

function admissionOf({ metadata: { labels = {}, annotations = {} } }: KubernetesObject): Admission {
  if (labels[proxyUuidLabel] === undefined) {
    const advice =
      'see annotation openservicemesh.io/sidecar-injection of namespace and pod, and the log of osm-injector'
    return { kind: 'refused', message: 'it would be admitted without a sidecar', advice }
  }
  return { kind: 'admitted', sidecarClass: annotations[sidecarClassAnnotation] ?? '' }
}

/** As the controller of the workload would make it. */
function newPod(workload: RestartableWorkload, sidecarClass: string | undefined): KubernetesManifest {
  const { object } = workload
  const labels = memberOf(object, 'spec', 'template', 'metadata', 'labels')
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${object.metadata.name.slice(0, 40)}-osm-migrate`,
      namespace: object.metadata.namespace ?? '',
      ...(isRecord(labels) && { labels: labels as Readonly<Record<string, string>> }), // the API server has checked it
      annotations: {
        ...templateAnnotations(workload),
        ...(sidecarClass !== undefined && { [sidecarClassAnnotation]: sidecarClass }),
      },
    },
    spec: memberOf(object, 'spec', 'template', 'spec'),
  }
}
