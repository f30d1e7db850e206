import { hash } from 'node:crypto'

import type { Part, PartHash } from './parts.js'

/**
 * JSON with sorted keys and no white space. Members with the value `undefined` are left out, as `JSON.stringify` does.
 *
 * @throws TypeError for values that JSON cannot represent faithfully: functions, symbols, bigints, non-finite numbers, `undefined` inside an array.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`canonical JSON cannot carry the number ${String(value)}`)
      return JSON.stringify(value)
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
      return canonicalObject(value as Readonly<Record<string, unknown>>)
    default:
      throw new TypeError(`canonical JSON cannot carry a value of type ${typeof value}`)
  }
}

function canonicalObject(value: Readonly<Record<string, unknown>>): string {
  // Joined and not concatenated: V8 keeps a concatenated text as a tree of its pieces.
  const members: string[] = []
  for (const key of sortedKeys(value)) {
    const member = value[key]
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`)
  }
  return `{${members.join(',')}}`
}

/** Sorting allocates memory even for sorted members, and most objects of a policy have their members in order. */
function sortedKeys(value: object): readonly string[] {
  const keys = Object.keys(value)
  return keys.every((key, at) => at === 0 || (keys[at - 1] ?? '') < key) ? keys : keys.sort()
}

/** The content address of a part. */
export function hashPart(part: Part): PartHash {
  return hashCanonicalPart(canonicalJson(part))
}

/** The content address of a part with known {@link canonicalJson}. */
export function hashCanonicalPart(text: string): PartHash {
  // 192 bits, which are the first 32 characters: a user who can write policy must not be able to find two parts with one address.
  return hash('sha256', text, 'base64url').slice(0, 32) as PartHash
}
