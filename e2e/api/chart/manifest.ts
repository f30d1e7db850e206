/** An object that the chart renders, as far as tests look at it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[]
}

/** A rule of a role. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** A container of a pod. */
export interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly securityContext?: unknown
  readonly resources?: unknown
  readonly livenessProbe?: unknown
  readonly readinessProbe?: unknown
  readonly lifecycle?: unknown
  readonly volumeMounts?: readonly unknown[]
}

/** The spec of a pod. */
export interface PodSpec {
  readonly serviceAccountName?: string
  readonly securityContext?: unknown
  readonly containers: readonly Container[]
  readonly [field: string]: unknown
}

/** `Kind name`. */
export function title({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`
}

/** The object of that kind and name. */
export function find(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
  if (found === undefined) throw new Error(`the chart renders no ${kind} ${name}: ${manifests.map(title).join(', ')}`)
  return found
}

/** The pod that an object makes, if it makes any. */
export function podOf({ kind, spec }: Manifest): PodSpec | undefined {
  if (kind === 'Pod') return spec as unknown as PodSpec
  return (spec?.template as { readonly spec: PodSpec } | undefined)?.spec
}

/** The container of an object's pod that has the object's name, or the only one. */
export function containerOf(manifest: Manifest): Container {
  const containers = podOf(manifest)?.containers ?? []
  const named = containers.filter(({ name }) => name === manifest.metadata.name)
  const [container, ...others] = named.length > 0 ? named : containers
  if (container === undefined || others.length > 0) throw new Error(`${title(manifest)} has not one container`)
  return container
}
