import type { KubernetesApi, KubernetesObject, ListQuery, ResourceType } from './api.js'

/** Objects in an answer where nothing is said. */
const PAGE = 250

/** All objects of a kind, read page by page. */
export async function* eachObject(
  api: Pick<KubernetesApi, 'list'>,
  type: ResourceType,
  query: Omit<ListQuery, 'continue'>,
  signal: AbortSignal,
): AsyncGenerator<KubernetesObject> {
  let next: string | undefined
  do {
    const page = await api.list(type, { limit: PAGE, ...query, ...(next !== undefined && { continue: next }) }, signal)
    yield* page.items
    next = page.continue
  } while (next !== undefined && next !== '')
}

/** As {@link eachObject}, all at once. */
export async function listAll(...question: Parameters<typeof eachObject>): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = []
  for await (const object of eachObject(...question)) objects.push(object)
  return objects
}
