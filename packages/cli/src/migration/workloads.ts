import { isRecord } from '@osm-ts/driver-api/toolkit'
import {
  type KubernetesObject,
  listAll,
  proxyUuidLabel,
  resourceTypes,
  sidecarClassAnnotation,
} from '@osm-ts/kubernetes'

import { podSummary } from '../control-plane/pod-report.js'
import { podState } from '../kubernetes/control-planes.js'
import type { Cluster } from '../kubernetes/open-cluster.js'

/** Kinds whose pods a change of the pod template recreates, one after the other. */
export const restartableKinds = ['Deployment', 'StatefulSet', 'DaemonSet'] as const

/** A kind of {@link restartableKinds}. */
export type RestartableKind = (typeof restartableKinds)[number]

/** A pod, as far as a migration looks at it. */
export interface SidecarPod {
  readonly name: string
  /** Of its sidecar; absent: it has none. */
  readonly uuid?: string
  readonly sidecarClass?: string
  readonly ready: boolean
  /** How it gets on, in a few words. */
  readonly summary: string
}

/** Something whose pods can be recreated, with those that it has now. */
export interface RestartableWorkload {
  readonly kind: RestartableKind
  readonly name: string
  readonly object: KubernetesObject
  readonly pods: readonly SidecarPod[]
}

/** A pod with a sidecar that nothing here recreates. */
export interface LeftPod extends SidecarPod {
  /** `<kind>/<name>` of what it belongs to; absent for one that stands alone. */
  readonly owner?: string
}

/** What runs in a namespace. */
export interface NamespaceWorkloads {
  readonly restartable: readonly RestartableWorkload[]
  readonly left: readonly LeftPod[]
}

/** Reads what runs in a namespace; what has ended, or is ending, does not. */
export async function readWorkloads(
  { api }: Pick<Cluster, 'api'>,
  namespace: string,
  signal: AbortSignal,
): Promise<NamespaceWorkloads> {
  const listed = await Promise.all(
    restartableKinds.map(async (kind) =>
      (await listAll(api, resourceTypes[kind], { namespace }, signal)).map((object) => ({ kind, object })),
    ),
  )
  // After their owners: an owner with a complete rollout has released older pods by then.
  const [replicaSets, pods] = await Promise.all([
    listAll(api, resourceTypes.ReplicaSet, { namespace, answer: 'metadata' }, signal),
    listAll(api, resourceTypes.Pod, { namespace }, signal),
  ])
  return sortPods(listed.flat(), replicaSets, pods)
}

/** Tells which pod is whose. */
export function sortPods(
  owners: readonly { readonly kind: RestartableKind; readonly object: KubernetesObject }[],
  replicaSets: readonly KubernetesObject[],
  pods: readonly KubernetesObject[],
): NamespaceWorkloads {
  const makers = new Map(replicaSets.map((set) => [set.metadata.uid, controllerOf(set)]))
  const known = new Set(owners.map(({ object }) => object.metadata.uid))
  const living = pods.filter(isAlive).map((pod) => {
    const direct = controllerOf(pod)
    const owner = direct?.kind === 'ReplicaSet' ? (makers.get(direct.uid) ?? direct) : direct
    return { owner, pod: sidecarPod(pod) }
  })
  return {
    restartable: owners
      .map(({ kind, object }) => ({
        kind,
        name: object.metadata.name,
        object,
        pods: living.flatMap(({ owner, pod }) => (owner?.uid === object.metadata.uid ? [pod] : [])),
      }))
      .sort((a, b) => (workloadId(a) < workloadId(b) ? -1 : 1)),
    left: living
      .filter(({ owner, pod }) => pod.uuid !== undefined && (owner === undefined || !known.has(owner.uid)))
      .map(({ owner, pod }) => ({ ...pod, ...(owner !== undefined && { owner: `${owner.kind}/${owner.name}` }) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

/** `<kind>/<name>`, as kubectl takes it. */
export function workloadId({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`
}

/** A member of an object, by its path; undefined where there is none. */
export function memberOf(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((found, name) => (isRecord(found) ? found[name] : undefined), value)
}

/** Annotations of the pod template. */
export function templateAnnotations({ object }: Pick<RestartableWorkload, 'object'>): Readonly<Record<string, string>> {
  const found = memberOf(object, 'spec', 'template', 'metadata', 'annotations')
  return isRecord(found) ? (found as Readonly<Record<string, string>>) : {} // the API server has checked it
}

function controllerOf({ metadata }: KubernetesObject) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

function isAlive(pod: KubernetesObject): boolean {
  const { phase } = podState(pod)
  return pod.metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed'
}

function sidecarPod(pod: KubernetesObject): SidecarPod {
  const { name, labels = {}, annotations = {} } = pod.metadata
  const { [proxyUuidLabel]: uuid } = labels
  const { [sidecarClassAnnotation]: sidecarClass } = annotations
  return {
    name,
    ready: podState(pod).ready,
    summary: podSummary(pod),
    // What the annotation says of a pod without a sidecar is a wish.
    ...(uuid !== undefined && { uuid, ...(sidecarClass !== undefined && { sidecarClass }) }),
  }
}
