import { hash } from 'node:crypto'

import type { Part, PartHash } from './parts.js'

/**
 * JSON with sorted keys and no white space. Members with the value `undefined` are left out, as `JSON.stringify` does.
 *
 * @throws TypeError for values that JSON cannot represent faithfully: functions, symbols, bigints, non-finite numbers, `undefined` inside an array.
 */
export function canonicalJson(value: unknown): string {
  // V8 writes a sorted value several times faster than this file, and without the texts in between.
  const sorted = inOrder(value)
  return sorted === undefined ? written(value) : JSON.stringify(sorted)
}

/** Names up to so many are sorted one by one. */
const MAX_INSERTED = 32

/** The value with sorted members, which is the value itself where they are; undefined where `JSON.stringify` would not write it as canonical JSON. */
function inOrder(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : undefined
    case 'object':
      if (value === null) return null
      return Array.isArray(value) ? itemsInOrder(value) : membersInOrder(value as Readonly<Record<string, unknown>>)
    default:
      return undefined
  }
}

function itemsInOrder(list: readonly unknown[]): readonly unknown[] | undefined {
  let copy: unknown[] | undefined
  for (let at = 0; at < list.length; at += 1) {
    const item = list[at]
    const sorted = inOrder(item)
    if (sorted === undefined) return undefined
    if (sorted !== item) (copy ??= [...list])[at] = sorted
  }
  return copy ?? list
}

function membersInOrder(value: Readonly<Record<string, unknown>>): object | undefined {
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined
  const keys = Object.keys(value)
  const isSorted = sortNames(keys)
  let copy: Record<string, unknown> | undefined
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? ''
    const member = value[key]
    const sorted = member === undefined ? undefined : inOrder(member)
    if (member !== undefined && sorted === undefined) return undefined
    if (copy === undefined) {
      if (isSorted && sorted === member) continue
      if (!keys.every(isPlainName)) return undefined
      copy = {}
      for (const before of keys.slice(0, at)) copy[before] = value[before]
    }
    copy[key] = sorted
  }
  return copy ?? value
}

/** False for names that a copy would not have in their place: objects have names of digits first, and one name stands for the prototype. */
function isPlainName(name: string): boolean {
  return name !== '__proto__' && !/^\d/.test(name)
}

/**
 * Sorts names in place, and says whether they were sorted before. Array.sort allocates memory even for sorted names; objects of a policy have few members, and
 * most have them in order.
 */
function sortNames(names: string[]): boolean {
  if (names.length > MAX_INSERTED) {
    const before = [...names]
    return names.sort().every((name, at) => name === before[at])
  }
  let isSorted = true
  for (let at = 1; at < names.length; at += 1) {
    const name = names[at] ?? ''
    let place = at
    for (; place > 0 && (names[place - 1] ?? '') > name; place -= 1) names[place] = names[place - 1] ?? ''
    if (place === at) continue
    names[place] = name
    isSorted = false
  }
  return isSorted
}

/** The canonical JSON of any value. */
function written(value: unknown): string {
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
      if (Array.isArray(value)) return `[${value.map(written).join(',')}]`
      return writtenObject(value as Readonly<Record<string, unknown>>)
    default:
      throw new TypeError(`canonical JSON cannot carry a value of type ${typeof value}`)
  }
}

function writtenObject(value: Readonly<Record<string, unknown>>): string {
  // Joined and not concatenated: V8 keeps a concatenated text as a tree of its pieces.
  const members: string[] = []
  for (const key of Object.keys(value).sort()) {
    const member = value[key]
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${written(member)}`)
  }
  return `{${members.join(',')}}`
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
