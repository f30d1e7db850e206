import { makeObjectKey, parseObjectKey, type ObjectKey } from '@osm-ts/core'

/** The object that a user names as `<kind>/<namespace>/<name>`, or `<kind>/<name>` for cluster-scoped kinds; undefined if it has another form. */
export function parseObjectName(text: string): ObjectKey | undefined {
  const parsed = parseObjectKey(text.split('/').length === 2 ? text.replace('/', '//') : text)
  return parsed && makeObjectKey(parsed.kind, parsed.namespace, parsed.name)
}
