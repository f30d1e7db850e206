import {
  type CustomResourceDefinition,
  customResourceDefinitions,
  type KubernetesApi,
  type KubernetesManifest,
  resourceTypes,
} from '@osm-ts/kubernetes'

/** A definition of ours, or one as OSM had it. */
export interface AnyDefinition extends KubernetesManifest {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly storage: boolean
      readonly subresources?: { readonly status?: object }
    }[]
  }
}

/** The definition of a kind. */
export function definitionOf(kind: string): CustomResourceDefinition {
  const found = customResourceDefinitions().find(({ spec }) => spec.names.kind === kind)
  if (found === undefined) throw new Error(`no definition of ${kind}`)
  return found
}

/** A definition as it stands, with what the API server says of it. */
export async function liveDefinition(api: KubernetesApi, name: string, signal: AbortSignal) {
  const live = await api.get(resourceTypes.CustomResourceDefinition, { namespace: '', name }, signal)
  const { conditions, storedVersions } = (live?.status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null
    readonly storedVersions?: readonly string[]
  }
  return {
    live,
    storedVersions: storedVersions ?? [],
    conditions: (conditions ?? []).map(({ type, status }) => `${type} ${status}`).sort(),
  }
}

/** Defines all kinds of the mesh, and waits until each can be used. */
export async function defineKinds(api: KubernetesApi, signal: AbortSignal): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    await api.apply(resourceTypes.CustomResourceDefinition, definition, { fieldManager: 'test', force: true, signal })
    await untilServed(api, definition, signal)
  }
}

/** The API server says that a kind is established a moment before it serves it as it is defined now. */
export async function untilServed(
  api: KubernetesApi,
  { metadata, spec }: AnyDefinition,
  signal: AbortSignal,
): Promise<void> {
  const version = spec.versions.find(({ storage }) => storage)
  const { plural } = spec.names
  const expected = version?.subresources?.status === undefined ? [plural] : [plural, `${plural}/status`]
  for (;;) {
    const { conditions } = await liveDefinition(api, metadata.name, signal)
    const path = `/apis/${spec.group}/${version?.name ?? ''}`
    const found = (await api.read(path, signal)) as
      { readonly resources: readonly { readonly name: string }[] } | undefined
    const names = found?.resources.map(({ name }) => name) ?? []
    if (conditions.includes('Established True') && expected.every((name) => names.includes(name))) return
    await new Promise((resolve) => setTimeout(resolve, 50))
    signal.throwIfAborted()
  }
}
