import { ownValue } from '@osm-ts/driver-api/toolkit'

/** True if two plain values (JSON-like, `undefined` members allowed) say the same. Members that are `undefined` count as absent. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b, deepEqual)
  if (Array.isArray(b)) return false
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
  for (const key of Object.keys(left)) if (!deepEqual(left[key], ownValue(right, key))) return false
  for (const key of Object.keys(right)) if (right[key] !== undefined && ownValue(left, key) === undefined) return false
  return true
}

/** True if both lists hold equal items in the same order. */
export function sameItems<T>(
  a: readonly T[],
  b: readonly T[],
  equal: (left: T, right: T) => boolean = Object.is,
): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  return a.every((item, index) => equal(item, b[index] as T))
}
