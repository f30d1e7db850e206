import type { ProxyStatus } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'
import {
  bootstrapSecretName,
  findSidecarContainer,
  isEnrolled,
  type KubernetesObject,
  listAll,
  monitoredByLabel,
  type MountingContainer,
  type MountingPod,
  proxyUuidLabel,
  resourceTypes,
  sidecarContainerNames,
} from '@osm-ts/kubernetes'
import { isOsmError } from '@osm-ts/driver-api'

import { podState, type ControlPlane } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import type { NamedThing } from '../policy-question.js'
import type { DebugApi, ExplainedPolicy } from '../state/debug-api.js'
import { failure, success, unknown, type Check } from './check.js'

/** A mesh whose traffic is verified. */
export interface VerifiedMesh {
  readonly cluster: Pick<Cluster, 'api' | 'signal'>
  readonly meshName: string
  readonly osmNamespace: string
  readonly debug: DebugApi
}

/** What the controller tells, or why it does not. */
export type Told<T> =
  | { readonly value: T }
  | {
      readonly fault: string
      readonly hint: string
      /** True: its debug server does not answer, as it does by default. */
      readonly isOff?: true
    }

/** A pod as far as it is verified. */
export interface VerifiedPod {
  readonly name: string
  readonly object: KubernetesObject | undefined
  /** Empty: it has no sidecar. */
  readonly uuid: string
}

/** Names of a mesh for those who verify it. */
export function verifiedMesh(cluster: Cluster, plane: ControlPlane, debug: DebugApi): VerifiedMesh {
  return { cluster, meshName: plane.meshName, osmNamespace: plane.namespace, debug }
}

/** Debug servers that are looked for when they are asked: where there are none, checks that need none still tell something. */
export function lateDebugApi(finding: Promise<DebugApi>): DebugApi {
  // The caller handles the rejection.
  finding.catch(() => undefined)
  return {
    statuses: async () => (await finding).statuses(),
    refused: async () => (await finding).refused(),
    participation: async () => (await finding).participation(),
    policy: async (proxy) => (await finding).policy(proxy),
    findPolicy: async (proxy) => (await finding).findPolicy(proxy),
    service: async (name) => (await finding).service(name),
    problems: async () => (await finding).problems(),
    certificates: async () => (await finding).certificates(),
    pushes: async () => (await finding).pushes(),
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
      hint: typeof hint === 'string' ? hint : 'check the control plane: osm verify control-plane-health',
      ...(isOsmError(error, 'OSM_CLI_UNREACHABLE') && { isOff: true }),
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
export async function checkNamespace(mesh: VerifiedMesh, namespace: string): Promise<Check> {
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
      ? 'it is not enrolled, or it has the label openservicemesh.io/ignore'
      : `it is monitored by mesh [${other}]`
  return failure(context, reason, `add it: osm namespace add ${namespace} --mesh-name ${meshName}`)
}

/** True if the pod runs with a sidecar. */
export function checkSidecar({ name, object, uuid }: VerifiedPod): Check {
  const context = `Verify that pod [${name}] runs with a sidecar`
  if (object === undefined) return failure(context, 'there is no such pod', 'see kubectl get pods')
  if (uuid === '' || sidecarContainer({ object, uuid }) === undefined)
    return failure(
      context,
      uuid === ''
        ? `it lacks the label ${proxyUuidLabel}`
        : `none of its containers is the sidecar, which mounts Secret ${bootstrapSecretName(uuid)} or a podCertificate volume`,
      're-create it while its namespace is monitored and injection is enabled; osm inject --explain shows what decides',
    )
  const { phase } = podState(object)
  return phase === 'Running'
    ? success(context)
    : failure(context, `it is ${phase}`, `see kubectl describe pod ${object.metadata.name}`)
}

/** True if the proxy of a pod is connected and has applied its policy. */
export function checkProxy(pod: VerifiedPod, statuses: Told<readonly ProxyStatus[]>): Check {
  const { name, uuid } = pod
  const context = `Verify that the proxy of pod [${name}] is connected and has applied its policy`
  if ('fault' in statuses)
    return statuses.isOff === true ? checkReady(pod) : unknown(context, statuses.fault, statuses.hint)
  const status = statuses.value.find((each) => each.uuid === uuid && each.name === name)
  if (uuid === '' || status === undefined)
    return failure(context, 'the controller has no record of this proxy', 'first fix why the pod has no sidecar')
  const { connected, rejected, denied, state } = status
  if (!connected)
    return failure(
      context,
      'it is not connected to any controller',
      `see kubectl logs ${name.split('/')[1] ?? ''} --namespace ${name.split('/')[0] ?? ''} --container ${sidecarContainer(pod)?.name ?? sidecarContainerNames.usual}`,
    )
  const [refused] = rejected
  if (refused !== undefined)
    return failure(
      context,
      `it refused ${refused.kind} ${refused.id}: ${refused.message}`,
      'osm proxy status shows the objects that it came from',
    )
  if (denied.length > 0)
    return failure(
      context,
      `it refused a change that removes access, so all callers are refused at ${denied.join(', ')}`,
      'see osm proxy status',
    )
  return state === 'applied'
    ? success(context)
    : unknown(context, 'it has not acknowledged all of its policy yet', 'try again in a moment; see osm proxy status')
}

/** What the cluster itself knows: a sidecar is ready once it has its first policy. */
function checkReady(pod: VerifiedPod): Check {
  const { name, object } = pod
  const context = `Verify that the sidecar of pod [${name}] is ready`
  const sidecar = sidecarContainer(pod)
  if (object === undefined || sidecar === undefined)
    return failure(context, 'it has no sidecar', 'first fix why the pod has no sidecar')
  const { initContainerStatuses, containerStatuses } = isRecord(object['status']) ? object['status'] : {}
  const status = [initContainerStatuses, containerStatuses]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .find((each) => isRecord(each) && each['name'] === sidecar.name)
  const isReady = isRecord(status) ? status['ready'] === true : podState(object).ready
  if (isReady) return success(context)
  const { namespace = '', name: podName } = object.metadata
  const logs = `kubectl logs ${podName} --namespace ${namespace} --container ${sidecar.name}`
  return failure(context, `container ${sidecar.name} is not ready`, `see ${logs}`)
}

/** What to know where the debug server does not answer, once for all checks. */
export function noteOf(
  statuses: Told<unknown>,
  { osmNamespace }: Pick<VerifiedMesh, 'osmNamespace'>,
): string | undefined {
  if (!('fault' in statuses) || statuses.isOff !== true) return undefined
  return (
    'the debug server of the controller does not answer, so policies are computed from the objects of the cluster, and whether sidecars have applied ' +
    `them is not checked; to check it, set spec.observability.enableDebugServer: true in the MeshConfig in namespace ${osmNamespace}`
  )
}

/** The policy of the proxy of a pod. */
export async function policyOf({ debug }: VerifiedMesh, { uuid, object }: VerifiedPod): Promise<Told<ExplainedPolicy>> {
  if (uuid === '') return { fault: 'the pod has no proxy', hint: 'first fix why the pod has no sidecar' }
  const { serviceAccountName } = isRecord(object?.spec) ? object.spec : {}
  const account = typeof serviceAccountName === 'string' ? serviceAccountName : 'default'
  return told(debug.policy({ uuid, identity: `${account}.${object?.metadata.namespace ?? ''}` }))
}

/** Pods that a Service selects; undefined if there is no such Service. */
export async function podsBehind(
  { cluster: { api, signal } }: VerifiedMesh,
  name: NamedThing,
): Promise<readonly KubernetesObject[] | undefined> {
  const service = await api.get(resourceTypes.Service, name, signal)
  if (service === undefined) return undefined
  const selector = isRecord(service['spec']) ? service['spec']['selector'] : undefined
  const pairs = isRecord(selector) ? Object.entries(selector).map(([key, value]) => `${key}=${String(value)}`) : []
  if (pairs.length === 0) return []
  return listAll(api, resourceTypes.Pod, { namespace: name.namespace, labelSelector: pairs.join(',') }, signal)
}

/** The container of the mesh in a pod. */
function sidecarContainer({ object, uuid }: Pick<VerifiedPod, 'object' | 'uuid'>): MountingContainer | undefined {
  // The API server has checked what it stores against its own types.
  return findSidecarContainer((object?.['spec'] ?? {}) as MountingPod<MountingContainer>, uuid)
}
