import type { Capabilities } from '@osm-ts/driver-api'

import { type JsonObject, objectOf, textOf } from '../json/json.js'

/**
 * A pod that is to end, such as that of a Job, and whose sidecar no one ends: neither the kubelet, as it does with native ones, nor the control plane, where
 * the class can't.
 */
export function jobsBlockedBySidecar(
  pod: JsonObject,
  sidecar: { readonly native: boolean; readonly sidecarClass: string; readonly capabilities: Capabilities },
): readonly string[] {
  const policy = textOf(objectOf(pod.spec).restartPolicy)
  const ends = policy === 'Never' || policy === 'OnFailure'
  if (!ends || sidecar.native || sidecar.capabilities.features.includes('workload-end')) return []
  return [
    `spec.restartPolicy ${policy}: the pod does not complete when its containers have ended, because a sidecar of class ${sidecar.sidecarClass} ` +
      `that is no native one goes on running; use native sidecars, or another class`,
  ]
}
