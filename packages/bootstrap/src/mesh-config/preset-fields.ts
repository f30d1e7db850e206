import { isJsonObject, memberPath, namedEntries } from './keyed-lists.js'

/** Which fields a preset has, without their values: `true` for a field that is taken as a whole. */
export type PresetFields = true | { readonly [name: string]: PresetFields }

/** The fields of a preset. Entries of a list with names count as members. */
export function fieldsOf(value: unknown, path = ''): PresetFields {
  const members = membersOf(value, path)
  if (members === undefined) return true
  return Object.fromEntries(members.map(([name, member, memberPath]) => [name, fieldsOf(member, memberPath)]))
}

/** Fields of two presets together. */
export function unionOf(a: PresetFields, b: PresetFields): PresetFields {
  if (a === true || b === true) return a === true ? b : a
  const merged = new Map(Object.entries(a))
  for (const [name, fields] of Object.entries(b)) {
    const before = merged.get(name)
    merged.set(name, before === undefined ? fields : unionOf(before, fields))
  }
  return Object.fromEntries(merged)
}

/** Reads what {@link fieldsOf} wrote; undefined if it is something else. */
export function parseFields(text: string): PresetFields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isFields(value: unknown): value is PresetFields {
  return value === true || (isJsonObject(value) && Object.values(value).every(isFields))
}

function membersOf(value: unknown, path: string): readonly (readonly [string, unknown, string])[] | undefined {
  if (isJsonObject(value)) {
    return Object.entries(value).map(([name, member]) => [name, member, memberPath(path, name)])
  }
  const entries = namedEntries(path, value)
  return entries && [...entries].map(([name, entry]) => [name, entry, `${path}[]`])
}
