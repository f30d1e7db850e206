import type { KubernetesApi, KubernetesObject, ResourceType, Selection } from '@osm-ts/core'

const PAGE = 250

/** All objects of a kind, read page by page. */
export async function listAll(
  api: KubernetesApi,
  type: ResourceType,
  selection: Selection,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = []
  let next: string | undefined
  do {
    const page = await api.list(
      type,
      { ...selection, limit: PAGE, ...(next !== undefined && { continue: next }) },
      signal,
    )
    objects.push(...page.items)
    next = page.continue
  } while (next !== undefined)
  return objects
}
