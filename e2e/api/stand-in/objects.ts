import type { KubernetesObject } from '@osm-ts/kubernetes'

/** The parts of Kubernetes' objects that the stand-in reads. */

export interface EnvironmentVariable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
    readonly configMapKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
  }
}

export interface HttpAction {
  readonly path?: string
  readonly port: number | string
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[]
}

export interface Probe {
  readonly httpGet?: HttpAction
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly EnvironmentVariable[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  /** `Always` on an init container makes it a sidecar. */
  readonly restartPolicy?: 'Always'
  readonly securityContext?: { readonly runAsUser?: number }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

export interface Volume {
  readonly name: string
  readonly secret?: { readonly secretName: string; readonly optional?: boolean }
  readonly configMap?: { readonly name: string; readonly optional?: boolean }
  readonly hostPath?: { readonly path: string }
  readonly csi?: { readonly driver: string; readonly readOnly?: boolean }
  readonly projected?: { readonly sources: readonly ProjectedSource[] }
}

export interface ProjectedSource {
  readonly serviceAccountToken?: { readonly path: string; readonly audience?: string }
  readonly configMap?: { readonly name: string }
  readonly downwardAPI?: {
    readonly items: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[]
  }
}

export interface PodSpec {
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never'
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly serviceAccountName?: string
  readonly volumes?: readonly Volume[]
}

export interface Pod extends KubernetesObject {
  readonly spec: PodSpec
  readonly status?: { readonly phase?: string; readonly podIP?: string; readonly conditions?: readonly Condition[] }
}

export interface Condition {
  readonly type: string
  readonly status: string
}

export interface PodTemplate {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels }
  readonly spec: PodSpec
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number
    readonly selector: { readonly matchLabels: Labels }
    readonly template: PodTemplate
  }
  readonly status?: Readonly<Record<string, unknown>>
}

export interface Job extends KubernetesObject {
  readonly spec: { readonly template: PodTemplate }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

export interface Service extends KubernetesObject {
  readonly spec: {
    readonly clusterIP?: string
    readonly selector?: Labels
    readonly ports?: readonly ServicePort[]
  }
}

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly targetPort?: number | string
  readonly appProtocol?: string
}

export type Labels = Readonly<Record<string, string>>

/** True if it has all of the labels. */
export function matches(selector: Labels, labels: Labels = {}): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}

/** True if it says so of itself. */
export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Number of a container's port that is given by number or name. */
export function portNumber(port: number | string, { containers, initContainers = [] }: PodSpec): number {
  if (typeof port === 'number') return port
  const ports = [...containers, ...initContainers].flatMap((container) => container.ports ?? [])
  const named = ports.find(({ name }) => name === port)
  if (named === undefined) throw new Error(`no container has a port called ${port}`)
  return named.containerPort
}

/** The time as objects have it. */
export function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}

/** A pod of a workload, by its template. */
export function podOf(
  { apiVersion, kind, metadata, spec }: Pick<Deployment | Job, 'apiVersion' | 'kind' | 'metadata' | 'spec'>,
  suffix: string,
  more: object,
) {
  const { name, uid = '', namespace = '' } = metadata
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-${suffix}`, namespace, ...spec.template.metadata, ...more, ownerReferences },
    spec: spec.template.spec,
  }
}
