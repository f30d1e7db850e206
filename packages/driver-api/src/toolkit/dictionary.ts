/**
 * Dictionaries whose keys a user writes: labels, headers, annotations, environment variables.
 *
 * An ordinary object inherits members such as `constructor` and takes an assignment to `__proto__` for its prototype. So a dictionary is made without a
 * prototype, and a key is looked up among own members alone.
 */

/** Makes a dictionary without a prototype. Of equal keys the last holds. */
export function dictionary<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const made = Object.create(null) as Record<string, T> // an object without members is a dictionary of anything
  for (const [key, value] of entries) made[key] = value
  return made
}

/** Value of a key in a dictionary; undefined if the dictionary itself has no such key, even if it inherits one. */
export function ownValue<T>(values: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined
}

/** True for what JSON calls an object: neither null nor a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
