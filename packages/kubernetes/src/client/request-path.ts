import type { ListQuery, ObjectName, ResourceType, Selection, WatchQuery } from '../api.js'

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

/** Path of all objects of a kind, in a namespace if one is given. */
export function collectionPath(type: ResourceType, namespace: string | undefined): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`
  const inNamespace = type.namespaced && namespace !== undefined && namespace !== ''
  return `${root}${inNamespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${type.plural}`
}

/** Path of an object, or of a subresource of it. */
export function objectPath(type: ResourceType, name: ObjectName, subresource?: string): string {
  const path = `${collectionPath(type, name.namespace)}/${encodeURIComponent(name.name)}`
  return subresource === undefined ? path : `${path}/${subresource}`
}

/** Path and query of a page of a list. */
export function listPath(type: ResourceType, query: ListQuery): string {
  const { limit, resourceVersion, resourceVersionMatch } = query
  // A continue token holds the resource version of its list; giving both is an error.
  const from = query.continue === undefined ? { resourceVersion, resourceVersionMatch } : { continue: query.continue }
  return withQuery(collectionPath(type, query.namespace), { ...selectors(query), limit, ...from })
}

/** Path and query of a watch. */
export function watchPath(type: ResourceType, query: WatchQuery): string {
  const { resourceVersion, timeoutSeconds } = query
  return withQuery(collectionPath(type, query.namespace), {
    ...selectors(query),
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion,
    timeoutSeconds,
  })
}

/** Adds the parameters that are given. */
export function withQuery(path: string, parameters: Parameters): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, String(value))
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

function selectors({ labelSelector, fieldSelector }: Selection): Parameters {
  return { labelSelector, fieldSelector }
}
