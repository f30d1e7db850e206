import {
  isEnrolled,
  listAll,
  monitoredByLabel,
  proxyUuidLabel,
  resourceTypes,
  type KubernetesObject,
  type ProxyStatus,
} from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'

import { podState, type ControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import type { NamedThing } from '../policy-question.js'
import type { DebugApi, ExplainedPolicy } from '../state/debug-api.js'
import { isPlainRecord } from '../state/json.js'
import { failure, success, unknown, type Check } from './check.js'

/** A mesh whose traffic is verified. */
export interface VerifiedMesh {
  readonly cluster: Pick<Cluster, 'api' | 'signal'>
  readonly meshName: string
  readonly osmNamespace: string
  readonly debug: DebugApi
}

/** What the controller tells, or why it does not. */
export type Told<T> = { readonly value: T } | { readonly fault: string; readonly hint: string }

/** A pod as far as it is verified. */
export interface VerifiedPod {
  readonly name: string
  readonly object: KubernetesObject | undefined
  /** Empty: it has no sidecar. */
  readonly uuid: string
}

const SIDECAR = 'sidecar'

/** Names of a mesh for those who verify it. */
export function verifiedMesh(cluster: Cluster, plane: ControlPlane, debug: DebugApi): VerifiedMesh {
  return { cluster, meshName: plane.meshName, osmNamespace: plane.namespace, debug }
}

/** Debug servers that are looked for when they are asked: where there are none, checks that need none still tell something. */
export function lateDebugApi(finding: Promise<DebugApi>): DebugApi {
  // Whoever asks hears of it.
  finding.catch(() => undefined)
  return {
    statuses: async () => (await finding).statuses(),
    refused: async () => (await finding).refused(),
    policy: async (uuid) => (await finding).policy(uuid),
    problems: async () => (await finding).problems(),
    drivers: async () => (await finding).drivers(),
  }
}

/** What was asked of the controller, or its error as text. */
export async function told<T>(asking: Promise<T>): Promise<Told<T>> {
  try {
    return { value: await asking }
  } catch (error) {
    if (!isOsmError(error)) throw error
    const { hint } = error.details
    return {
      fault: error.message,
      hint: typeof hint === 'string' ? hint : 'see whether the control plane is well: osm verify control-plane-health',
    }
  }
}

/** Reads a pod. */
export async function readPod({ cluster }: VerifiedMesh, name: NamedThing): Promise<VerifiedPod> {
  const object = await cluster.api.get(resourceTypes.Pod, name, cluster.signal)
  const uuid = object?.metadata.labels?.[proxyUuidLabel] ?? ''
  return { name: `${name.namespace}/${name.name}`, object, uuid }
}

/** True if the namespace is of the mesh. */
export async function checkNamespace(mesh: VerifiedMesh, namespace: string, injection: boolean): Promise<Check> {
  const { cluster, meshName, osmNamespace } = mesh
  const context = `Verify that namespace [${namespace}] is monitored by mesh [${meshName}]`
  const name = { namespace: '', name: namespace }
  const object = await cluster.api.get(resourceTypes.Namespace, name, cluster.signal, { answer: 'metadata' })
  if (object === undefined) return failure(context, 'there is no such namespace', 'see kubectl get namespaces')
  const { labels = {} } = object.metadata
  if (isEnrolled(namespace, labels, { meshName, osmNamespace })) return success(context)
  const other = labels[monitoredByLabel]
  const reason =
    other === undefined || other === meshName
      ? 'it does not take part, or is ignored'
      : `it is monitored by mesh [${other}]`
  const more = injection ? '' : ' --disable-sidecar-injection'
  return failure(context, reason, `add it: osm namespace add ${namespace} --mesh-name ${meshName}${more}`)
}

/** True if the pod runs with a sidecar. */
export function checkSidecar({ name, object, uuid }: VerifiedPod): Check {
  const context = `Verify that pod [${name}] runs with a sidecar`
  if (object === undefined) return failure(context, 'there is no such pod', 'see kubectl get pods')
  if (uuid === '' || !containersOf(object).includes(SIDECAR))
    return failure(
      context,
      uuid === '' ? `it lacks the label ${proxyUuidLabel}` : `it has no container ${SIDECAR}`,
      'create it anew while its namespace is monitored and injection is enabled; osm inject --explain tells what decides',
    )
  const { phase } = podState(object)
  return phase === 'Running'
    ? success(context)
    : failure(context, `it is ${phase}`, `see kubectl describe pod ${object.metadata.name}`)
}

/** True if the proxy of a pod is connected and has applied its policy. */
export function checkProxy({ name, uuid }: VerifiedPod, statuses: Told<readonly ProxyStatus[]>): Check {
  const context = `Verify that the proxy of pod [${name}] is connected and has applied its policy`
  if ('fault' in statuses) return unknown(context, statuses.fault, statuses.hint)
  const status = statuses.value.find((each) => each.uuid === uuid)
  if (uuid === '' || status === undefined)
    return failure(context, 'the controller knows no such proxy', 'mend what keeps the pod from being meshed first')
  const { connected, rejected, denied, state } = status
  if (!connected)
    return failure(
      context,
      'it is connected to no controller',
      `see kubectl logs ${name.split('/')[1] ?? ''} --namespace ${name.split('/')[0] ?? ''} --container ${SIDECAR}`,
    )
  const [refused] = rejected
  if (refused !== undefined)
    return failure(
      context,
      `it refused ${refused.kind} ${refused.id}: ${refused.message}`,
      'osm proxy status names the objects that it came from',
    )
  if (denied.length > 0)
    return failure(
      context,
      `it refused a change that removes access, so that nobody is let in at ${denied.join(', ')}`,
      'see osm proxy status',
    )
  return state === 'applied'
    ? success(context)
    : unknown(context, 'it has not acknowledged all of its policy yet', 'try again in a moment; see osm proxy status')
}

/** The policy of the proxy of a pod. */
export async function policyOf({ debug }: VerifiedMesh, { uuid }: VerifiedPod): Promise<Told<ExplainedPolicy>> {
  if (uuid === '') return { fault: 'the pod has no proxy', hint: 'mend what keeps the pod from being meshed first' }
  return told(debug.policy(uuid))
}

/** Pods that a Service selects; undefined if there is no such Service. */
export async function podsBehind(
  { cluster: { api, signal } }: VerifiedMesh,
  name: NamedThing,
): Promise<readonly KubernetesObject[] | undefined> {
  const service = await api.get(resourceTypes.Service, name, signal)
  if (service === undefined) return undefined
  const selector = isPlainRecord(service['spec']) ? service['spec']['selector'] : undefined
  const pairs = isPlainRecord(selector) ? Object.entries(selector).map(([key, value]) => `${key}=${String(value)}`) : []
  if (pairs.length === 0) return []
  return listAll(api, resourceTypes.Pod, { namespace: name.namespace, labelSelector: pairs.join(',') }, signal)
}

function containersOf({ spec }: KubernetesObject): readonly unknown[] {
  if (!isPlainRecord(spec)) return []
  return [spec['containers'], spec['initContainers']]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .map((container) => (isPlainRecord(container) ? container['name'] : undefined))
}
