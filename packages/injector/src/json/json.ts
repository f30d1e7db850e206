import type { JsonValue } from '@osm-ts/driver-api/policy'

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue }

/** True for an object that is neither a list nor null. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a list. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** The object, or an empty one for everything else. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/** The objects of a list; nothing for everything else. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return isList(value) ? value.filter(isObject) : []
}

/** The text, or an empty one for everything else. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** A copy with some members changed, added, or (undefined) left out; all others stay the same values in the same order. */
export function withMembers(
  object: JsonObject,
  members: { readonly [key: string]: JsonValue | undefined },
): JsonObject {
  // A spread defines `__proto__` as a member like any other, which an assignment would not.
  const copy: Record<string, JsonValue | undefined> = { ...object, ...members }
  for (const key of Object.keys(members)) if (members[key] === undefined) Reflect.deleteProperty(copy, key)
  return copy as JsonObject // what was undefined is gone
}
