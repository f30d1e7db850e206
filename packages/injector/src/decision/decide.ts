import { ignoreLabel, monitoredByLabel } from '@osm-ts/kubernetes'

import { annotations } from '../annotations/annotation.js'
import { readSwitch } from '../annotations/values.js'
import type { PodHead } from '../pod/pod.js'
import type { InjectionSettings, NamespaceFacts } from '../inject/settings.js'

/** Why a pod gets no sidecar, for logs and metrics. */
export type SkipReason =
  | 'system-namespace'
  | 'control-plane-namespace'
  | 'ignored-namespace'
  | 'unmonitored-namespace'
  | 'host-network'
  | 'mirror-pod'
  | 'disabled'
  | 'not-enabled'
  | 'driver-fault'

/** What has to change for a pod to be decided about in another way: the pod, labels or annotations of its namespace, the name of that, or what its driver does. */
export type SkippedBy = 'pod' | 'namespace' | 'namespace-name' | 'driver'

/** Whether a pod gets a sidecar, and why. */
export type Decision =
  | { readonly kind: 'inject'; readonly message: string }
  | { readonly kind: 'skip'; readonly reason: SkipReason; readonly by: SkippedBy; readonly message: string }

const SYSTEM_NAMESPACES = ['kube-system', 'kube-public']
/** Marks namespaces of control planes, of OSM and of others. */
const CONTROL_PLANE_LABEL = 'control-plane'
/** The kubelet's note on pods that it runs from files: the API server only shows them, and refuses any other content. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

/**
 * Decides whether a pod gets a sidecar. What never gets one is checked before annotations are.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function decide(
  pod: PodHead,
  namespace: NamespaceFacts,
  settings: Pick<InjectionSettings, 'meshName' | 'osmNamespace'>,
): Decision {
  const podAnnotations = pod.metadata?.annotations ?? {}
  const never = neverInjected(namespace, settings) ?? unfitPod(pod, podAnnotations)
  if (never !== undefined) return never
  const ofPod = readSwitch(podAnnotations[annotations.injection], annotations.injection, 'the pod')
  const ofNamespace = readSwitch(
    namespace.annotations[annotations.injection],
    annotations.injection,
    `namespace ${namespace.name}`,
  )
  if (ofPod !== undefined) return chosen(ofPod, 'pod', `annotation ${annotations.injection} of the pod`)
  if (ofNamespace !== undefined)
    return chosen(ofNamespace, 'namespace', `annotation ${annotations.injection} of namespace ${namespace.name}`)
  return skip(
    'not-enabled',
    'namespace',
    `neither the pod nor namespace ${namespace.name} has annotation ${annotations.injection}; ` +
      `set it to enabled on one of them (osm namespace add does)`,
  )
}

function neverInjected(
  { name, labels }: NamespaceFacts,
  { meshName, osmNamespace }: Pick<InjectionSettings, 'meshName' | 'osmNamespace'>,
): Decision | undefined {
  if (SYSTEM_NAMESPACES.includes(name))
    return skip('system-namespace', 'namespace-name', `namespace ${name} belongs to Kubernetes`)
  if (name === osmNamespace)
    return skip(
      'control-plane-namespace',
      'namespace-name',
      `namespace ${name} is that of the control plane of mesh ${meshName}`,
    )
  if (Object.hasOwn(labels, ignoreLabel))
    return skip(
      'ignored-namespace',
      'namespace',
      `namespace ${name} has label ${ignoreLabel}; remove it to let the namespace in`,
    )
  if (Object.hasOwn(labels, CONTROL_PLANE_LABEL))
    return skip('control-plane-namespace', 'namespace', `namespace ${name} has label ${CONTROL_PLANE_LABEL}`)
  if (labels[monitoredByLabel] !== meshName)
    return skip(
      'unmonitored-namespace',
      'namespace',
      `namespace ${name} has no label ${monitoredByLabel}=${meshName}; osm namespace add ${name} sets it`,
    )
  return undefined
}

function unfitPod({ spec }: PodHead, podAnnotations: Readonly<Record<string, string>>): Decision | undefined {
  if (spec?.hostNetwork === true)
    return skip('host-network', 'pod', 'the pod uses the network of its node, whose traffic is not its own to redirect')
  if (Object.hasOwn(podAnnotations, MIRROR_ANNOTATION))
    return skip('mirror-pod', 'pod', 'the pod is a static pod of a kubelet, which cannot be changed by the API server')
  return undefined
}

function chosen(enabled: boolean, by: SkippedBy, what: string): Decision {
  return enabled ? { kind: 'inject', message: `enabled by ${what}` } : skip('disabled', by, `disabled by ${what}`)
}

function skip(reason: SkipReason, by: SkippedBy, message: string): Decision {
  return { kind: 'skip', reason, by, message }
}
