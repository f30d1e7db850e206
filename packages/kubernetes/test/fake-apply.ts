import type { KubernetesObject } from '../src/api.js'

/** Who owns which leaf of an object, by path. Lists are leaves. */
export type FieldOwners = ReadonlyMap<string, string>

type Tree = Readonly<Record<string, unknown>>

/** What server-side apply makes of an object, or the fields that other managers own. */
export function applyFields(
  before: KubernetesObject | undefined,
  owners: FieldOwners,
  applied: KubernetesObject,
  options: { readonly manager: string; readonly force: boolean },
): { readonly object: KubernetesObject; readonly owners: FieldOwners } | { readonly conflicts: readonly string[] } {
  const { manager, force } = options
  const wanted = leaves(applied)
  const conflicts = [...wanted].filter(([path, value]) => {
    const owner = owners.get(path)
    return owner !== undefined && owner !== manager && !sameValue(valueAt(before, path), value)
  })
  if (conflicts.length > 0 && !force) return { conflicts: conflicts.map(([path]) => path) }
  // A structured clone would have prototypes of another realm in jest, and so differ from its original.
  const after = JSON.parse(JSON.stringify(before ?? {})) as Record<string, unknown>
  const next = new Map(owners)
  for (const [path, owner] of owners) {
    if (owner !== manager || wanted.has(path)) continue
    next.delete(path)
    setAt(after, path, undefined)
  }
  for (const [path, value] of wanted) {
    setAt(after, path, value)
    next.set(path, manager)
  }
  return { object: after as unknown as KubernetesObject, owners: next }
}

/** What a JSON merge patch makes of a value. */
export function mergePatched(value: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch
  const merged: Record<string, unknown> = isTree(value) ? { ...value } : {}
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) Reflect.deleteProperty(merged, key)
    else merged[key] = mergePatched(merged[key], change)
  }
  return merged
}

/** Paths and values of the leaves, what names the object left out. */
function leaves(object: KubernetesObject): Map<string, unknown> {
  const found = new Map<string, unknown>()
  const walk = (value: unknown, path: readonly string[]): void => {
    if (isTree(value) && Object.keys(value).length > 0) {
      for (const [key, child] of Object.entries(value)) walk(child, [...path, key])
    } else {
      found.set(JSON.stringify(path), value)
    }
  }
  walk(object, [])
  for (const path of [
    ['metadata', 'resourceVersion'],
    ['metadata', 'uid'],
  ])
    found.delete(JSON.stringify(path))
  return found
}

function valueAt(object: unknown, path: string): unknown {
  let value = object
  for (const key of JSON.parse(path) as string[]) value = isTree(value) ? value[key] : undefined
  return value
}

function setAt(object: Record<string, unknown>, path: string, value: unknown): void {
  const keys = JSON.parse(path) as string[]
  const last = keys.pop()
  let target = object
  for (const key of keys) {
    if (!isTree(target[key])) target[key] = {}
    target = target[key] as Record<string, unknown>
  }
  if (last === undefined) return
  if (value === undefined) Reflect.deleteProperty(target, last)
  else target[last] = value
}

function sameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
