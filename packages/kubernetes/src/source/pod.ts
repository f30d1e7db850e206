import {
  type InstanceProbeBinding,
  kindDefinitions,
  type KindMap,
  parseProxyUUID,
  type Problem,
  sameContent,
  sameValue,
  type WorkloadPort,
} from '@osm-ts/core'
import type { KubernetesMetadata, KubernetesObject } from '../api.js'
import { findSidecarContainer } from '../sidecar-container.js'
import { bootstrapSecretName, uuidOfVolume, workloadApiVolume } from '../sidecar-volume.js'
import type { SourceErrorCode } from '../error-codes.js'
import type { Deduplicator } from './deduplicator.js'
import { awaitsSidecar } from './pod-end.js'
import type { ContainerFields, PodFields } from './pod-fields.js'
import { probeBindingsAnnotation, type ProbeBindingsReader } from './probe-annotation.js'
import { sameProblems } from './written-object.js'

/** Label by which a pod names its sidecar. */
export const proxyUuidLabel = 'osm-proxy-uuid'
/** Annotation in which the injector leaves the sidecar class. */
export const sidecarClassAnnotation = 'openservicemesh.io/sidecar-class'

/** A pod, as far as the mesh reads it: with a sidecar it is an instance of the mesh, without one an endpoint at most. */
export type PodItem = MeshedPod | PlainPod

/** A pod with a sidecar. */
export interface MeshedPod {
  readonly instance: KindMap['WorkloadInstance']
  readonly problems: readonly Problem[]
}

/** A pod without one, or with one of which too little is known to use it. */
export interface PlainPod {
  readonly instance?: undefined
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly account: string
  readonly addresses: readonly string[]
  /** True: the pod has a sidecar of which too little is known yet. */
  readonly awaited: boolean
  readonly problems: readonly Problem[]
}

const noProblems: readonly Problem[] = Object.freeze([])
const noAnnotations = Object.freeze({})
/** Which version of a pod an instance was made from helps no one, and would be its own text for each. */
const podOrigin = Object.freeze({ kind: 'api', resourceVersion: '' } as const)

/** Keeps of pods what the mesh reads. */
export class PodReader {
  readonly #deduplicator: Deduplicator
  readonly #probes: ProbeBindingsReader

  constructor(deduplicator: Deduplicator, probes: ProbeBindingsReader) {
    this.#deduplicator = deduplicator
    this.#probes = probes
  }

  /**
   * Undefined for pods that have ended: nothing of them runs.
   *
   * @param before - what was read of the pod last. Most changes of a pod change little, so that it is cheaper to compare than to look up what all pods share
   */
  read(raw: KubernetesObject, before?: PodItem): PodItem | undefined {
    const { metadata } = raw
    // The API server has checked what it stores against its own types.
    const { spec = {}, status = {} } = raw as PodFields
    if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined
    const known = before?.instance
    const account = this.#text(spec.serviceAccountName || 'default', before && podAccount(before))
    const addresses = addressesOf(status)
    const uuid = metadata.labels?.[proxyUuidLabel]
    const labels = this.#labels(metadata.labels ?? {}, before && podLabels(before))
    const sidecar = uuid === undefined ? undefined : findSidecarContainer(spec, uuid)
    const { bindings, problems } = this.#probesOf(metadata, sidecar)
    const fault = uuid === undefined ? undefined : labelFault(uuid, spec)
    if (uuid === undefined || fault !== undefined || addresses.length === 0) {
      const found =
        fault === undefined ? noProblems : [podProblem(metadata, `metadata.labels[${proxyUuidLabel}]`, fault)]
      const awaited = uuid !== undefined && fault === undefined
      return Object.freeze({ name: metadata.name, labels, account, addresses, awaited, problems: found })
    }
    const hostname = spec.subdomain ? spec.hostname : undefined
    const instance: KindMap['WorkloadInstance'] = {
      apiVersion: kindDefinitions.WorkloadInstance.apiVersion,
      kind: 'WorkloadInstance',
      metadata: Object.freeze({
        name: metadata.name,
        namespace: this.#text(metadata.namespace ?? '', known?.metadata.namespace),
        labels,
        annotations: noAnnotations,
      }),
      spec: Object.freeze({
        uuid,
        workload: this.#text(workloadOf(metadata), known?.spec.workload),
        serviceAccountName: account,
        sidecarClass: this.#text(metadata.annotations?.[sidecarClassAnnotation] ?? '', known?.spec.sidecarClass),
        mode: 'transparent',
        ...(hostname === undefined || hostname === '' ? {} : { hostname }),
        addresses,
        ports: this.#value(portsOf(spec, sidecar), known?.spec.ports),
        ...(bindings === undefined ? {} : { probeBindings: this.#value([...bindings], known?.spec.probeBindings) }),
        ready: isReady(metadata, status),
        ...(hasWorkloadApi(spec) ? { serviceCredential: 'workload-api' } : {}),
        ...(awaitsSidecar(spec, status, sidecar) ? { ended: true } : {}),
        createdAt: this.#text(metadata.creationTimestamp ?? '', known?.spec.createdAt),
      }),
      origin: podOrigin,
    }
    return Object.freeze({ instance: Object.freeze(instance), problems })
  }

  #text(text: string, before: string | undefined): string {
    return text === before ? before : this.#deduplicator.text(text)
  }

  #value<T extends object>(value: T, before: T | undefined): T {
    return before !== undefined && sameValue(value, before) ? before : this.#deduplicator.value(value)
  }

  #labels(labels: Labels, before: Labels | undefined): Labels {
    if (before !== undefined && areOthers(labels, before)) return before
    const { [proxyUuidLabel]: _uuid, ...others } = labels
    return this.#deduplicator.value(sorted(others))
  }

  #probesOf(
    metadata: KubernetesMetadata,
    sidecar: ContainerFields | undefined,
  ): {
    readonly bindings: readonly InstanceProbeBinding[] | undefined
    readonly problems: readonly Problem[]
  } {
    const { [probeBindingsAnnotation]: text } = metadata.annotations ?? {}
    if (text === undefined) return { bindings: undefined, problems: noProblems }
    const { bindings, fault } = this.#probes.read(text, portsOfSidecar(sidecar))
    if (fault === undefined) return { bindings, problems: noProblems }
    const message = `${fault}; the sidecar answers no probes. The injector writes this annotation, restart the pod`
    return { bindings, problems: [podProblem(metadata, `metadata.annotations[${probeBindingsAnnotation}]`, message)] }
  }
}

type Labels = Readonly<Record<string, string>>

/** True if these are the labels of a pod but that of its sidecar. */
function areOthers(labels: Labels, others: Labels): boolean {
  let count = Object.hasOwn(labels, proxyUuidLabel) ? 1 : 0
  for (const name of Object.keys(others)) {
    if (!Object.hasOwn(labels, name) || labels[name] !== others[name]) return false
    count += 1
  }
  return count === Object.keys(labels).length
}

/** True if no one could tell the two apart. */
export function samePod(a: PodItem, b: PodItem): boolean {
  if (!sameProblems(a.problems, b.problems)) return false
  if (a.instance !== undefined && b.instance !== undefined) return sameContent(a.instance, b.instance)
  return a.instance === undefined && b.instance === undefined && sameEndpoint(a, b)
}

/** True if the two pods are the same endpoint: whether they are ready is not theirs to say. */
export function sameEndpoint(a: PodItem, b: PodItem): boolean {
  return (
    sameValue(podLabels(a), podLabels(b)) &&
    podAccount(a) === podAccount(b) &&
    isAwaited(a) === isAwaited(b) &&
    a.instance?.spec.uuid === b.instance?.spec.uuid &&
    a.instance?.spec.sidecarClass === b.instance?.spec.sidecarClass &&
    sameValue(podAddresses(a), podAddresses(b))
  )
}

/** Name of the pod. */
export function podName(pod: PodItem): string {
  return pod.instance?.metadata.name ?? (pod as PlainPod).name
}

/** Labels of the pod, without that of its sidecar. */
export function podLabels(pod: PodItem): Readonly<Record<string, string>> {
  return pod.instance === undefined ? pod.labels : pod.instance.metadata.labels
}

/** Service account of the pod. */
export function podAccount(pod: PodItem): string {
  return pod.instance === undefined ? pod.account : pod.instance.spec.serviceAccountName
}

/** IP addresses of the pod. */
export function podAddresses(pod: PodItem): readonly string[] {
  return pod.instance === undefined ? pod.addresses : pod.instance.spec.addresses
}

function isAwaited(pod: PodItem): boolean {
  return pod.instance === undefined && pod.awaited
}

// Each change of each pod comes by here, most of which change nothing for the mesh: so these make no lists in between.

function addressesOf({ podIP, podIPs = [] }: NonNullable<PodFields['status']>): readonly string[] {
  const addresses: string[] = []
  for (const { ip } of podIPs) if (ip) addresses.push(ip)
  if (addresses.length === 0 && podIP) addresses.push(podIP)
  return Object.freeze(addresses)
}

/** Ports of containers that run as long as the pod: restartable init containers among them, the sidecar's own not. */
function portsOf(
  { containers = [], initContainers = [] }: NonNullable<PodFields['spec']>,
  sidecar: ContainerFields | undefined,
): readonly WorkloadPort[] {
  const ports: WorkloadPort[] = []
  for (const container of containers) if (container !== sidecar) addPorts(ports, container)
  for (const container of initContainers)
    if (container !== sidecar && container.restartPolicy === 'Always') addPorts(ports, container)
  return ports
}

/** Ports that the sidecar declares, whatever its class. */
function portsOfSidecar({ ports = [] }: ContainerFields = {}): ReadonlySet<number> {
  return new Set(ports.flatMap(({ containerPort }) => containerPort ?? []))
}

function addPorts(ports: WorkloadPort[], container: ContainerFields): void {
  for (const { name, containerPort: port, protocol = 'TCP' } of container.ports ?? []) {
    if (protocol !== 'TCP' || port === undefined) continue
    const found: WorkloadPort = name ? { name, port } : { port }
    if (!ports.some((other) => other.port === port && other.name === found.name)) ports.push(found)
  }
}

function isReady(metadata: KubernetesMetadata, { conditions = [] }: NonNullable<PodFields['status']>): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** What the pod is a replica of, as far as the pod itself tells. */
function workloadOf({ name, labels, ownerReferences = [] }: KubernetesMetadata): string {
  const owner = ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return name
  const hash = labels?.['pod-template-hash']
  const suffix = hash === undefined ? '' : `-${hash}`
  // A ReplicaSet of a Deployment is called after it, and after the template of its pods.
  return owner.kind === 'ReplicaSet' && suffix !== '' && owner.name.endsWith(suffix)
    ? owner.name.slice(0, -suffix.length)
    : owner.name
}

function isUuid(text: string): boolean {
  try {
    parseProxyUUID(text)
    return true
  } catch {
    return false
  }
}

function sorted(labels: Labels): Labels {
  // As the API server writes them, they are.
  const names = Object.keys(labels)
  if (names.every((name, at) => at === 0 || (names[at - 1] ?? '') < name)) return labels
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Why the label of a pod names no sidecar of its own. Anybody can write a label on their pods; only a pod that mounts the Secret of a sidecar, one of its own
 * namespace, or has a certificate for that sidecar made by its kubelet, can hold the certificate of that sidecar.
 */
function labelFault(uuid: string, { volumes = [] }: NonNullable<PodFields['spec']>): string | undefined {
  if (!isUuid(uuid))
    return `${JSON.stringify(uuid.slice(0, 64))} is not a UUID in lower case, so the pod counts as one without a sidecar; the injector sets this label`
  if (volumes.some((volume) => uuidOfVolume(volume) === uuid)) return undefined
  return `${uuid} is not the sidecar of this pod, which does not mount Secret ${bootstrapSecretName(uuid)} or a podCertificate volume of that sidecar, so it counts as one without a sidecar; the injector sets this label, remove it`
}

/** Volumes of a pod cannot be changed, so they tell how its sidecar was made. */
function hasWorkloadApi({ volumes = [] }: NonNullable<PodFields['spec']>): boolean {
  return volumes.some(({ name }) => name === workloadApiVolume)
}

function podProblem(
  { name, namespace = '', resourceVersion = '' }: KubernetesMetadata,
  field: string,
  message: string,
): Problem {
  const code: SourceErrorCode = 'OSM_SOURCE_POD'
  const object = { kind: 'Pod', namespace, name }
  return { code, severity: 'warning', message, object, origin: { kind: 'api', resourceVersion }, field }
}
