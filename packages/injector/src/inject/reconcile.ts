import type { JsonValue } from '@osm-ts/driver-api/policy'

import { isList, isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json/json.js'

const LISTS = ['initContainers', 'containers', 'volumes'] as const

/**
 * Brings a pod that was injected again as near to how it came as can be: its containers and volumes keep their order, and those of the mesh keep what
 * others have added to them, such as defaults of the API server. An injection that changes nothing then is no change at all.
 *
 * @param isOwn - names of what injection adds
 */
export function reconcile(came: JsonObject, injected: JsonObject, isOwn: (name: string) => boolean): JsonObject {
  const before = objectOf(came.spec)
  const after = objectOf(injected.spec)
  const lists = LISTS.flatMap((list): [string, readonly JsonObject[]][] =>
    Array.isArray(after[list]) ? [[list, ordered(objectsOf(before[list]), objectsOf(after[list]), isOwn)]] : [],
  )
  return { ...injected, spec: { ...after, ...Object.fromEntries(lists) } }
}

function ordered(
  before: readonly JsonObject[],
  after: readonly JsonObject[],
  isOwn: (name: string) => boolean,
): readonly JsonObject[] {
  const wanted = new Map(after.map((item) => [textOf(item.name), item]))
  const old = new Map(before.map((item) => [textOf(item.name), item]))
  const kept = before.flatMap((item): readonly JsonObject[] => {
    const name = textOf(item.name)
    const next = wanted.get(name)
    if (next === undefined) return []
    return [isOwn(name) ? objectOf(overlay(item, next)) : next]
  })
  for (const [index, item] of after.entries()) if (!old.has(textOf(item.name))) kept.splice(index, 0, item)
  return kept
}

/** The second over the first: members and named items that only the first has stay. */
function overlay(under: JsonValue, over: JsonValue): JsonValue {
  if (isObject(under) && isObject(over)) {
    const merged = Object.entries(over).map(([key, value]): [string, JsonValue] => [
      key,
      Object.hasOwn(under, key) ? overlay(under[key] ?? null, value) : value,
    ])
    return { ...under, ...Object.fromEntries(merged) }
  }
  if (isList(under) && isList(over) && areNamed(under) && areNamed(over)) {
    const wanted = new Map(over.map((item) => [textOf(item.name), item]))
    const known = new Set(under.map(({ name }) => textOf(name)))
    return [
      ...under.map((item) => {
        const next = wanted.get(textOf(item.name))
        return next === undefined ? item : overlay(item, next)
      }),
      ...over.filter(({ name }) => !known.has(textOf(name))),
    ]
  }
  return over
}

function areNamed(list: readonly JsonValue[]): list is readonly JsonObject[] {
  return list.every((item) => isObject(item) && typeof item.name === 'string')
}
