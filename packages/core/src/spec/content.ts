import type { MeshObject } from './objects.js'

/** True if two objects say the same: where they are written down, their status and their generation aside. */
export function sameContent(a: MeshObject, b: MeshObject): boolean {
  if (a === b) return true
  return (
    a.kind === b.kind &&
    a.metadata.name === b.metadata.name &&
    a.metadata.namespace === b.metadata.namespace &&
    sameValue(a.metadata.labels, b.metadata.labels) &&
    sameValue(a.metadata.annotations, b.metadata.annotations) &&
    sameValue(a.spec, b.spec)
  )
}

/** Deep equality of JSON values; the order of members does not matter. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => sameValue(item, b[index]))
    )
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameValue(left[name], right[name]))
  )
}
