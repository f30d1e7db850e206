import type { JsonValue } from '@osm-ts/driver-api/policy'

import { isList, isObject, type JsonObject } from './json.js'

/** One operation of RFC 6902. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: JsonValue }
  | { readonly op: 'remove'; readonly path: string }

/**
 * The operations that turn one value into the other.
 *
 * What is the same stays untouched: the API server then keeps it as it has it, to the last digit of numbers that JavaScript
 * can't hold. Lists whose items all have their own name are compared by name, so that an inserted container moves the others
 * instead of rewriting them.
 */
export function jsonPatch(before: JsonValue, after: JsonValue): readonly PatchOperation[] {
  const operations: PatchOperation[] = []
  compare(before, after, '', operations)
  return operations
}

/** Escapes a member name for a JSON pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function compare(before: JsonValue, after: JsonValue, path: string, operations: PatchOperation[]): void {
  if (before === after) return
  if (isObject(before) && isObject(after)) compareObjects(before, after, path, operations)
  else if (isList(before) && isList(after)) compareLists(before, after, path, operations)
  else operations.push({ op: 'replace', path, value: after })
}

function compareObjects(before: JsonObject, after: JsonObject, path: string, operations: PatchOperation[]): void {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) operations.push({ op: 'remove', path: `${path}/${escapePointer(key)}` })
  }
  for (const [key, value] of Object.entries(after)) {
    const known = Object.hasOwn(before, key)
    // Nearly everything is the same value still, and needs no path.
    if (known && before[key] === value) continue
    const at = `${path}/${escapePointer(key)}`
    if (known) compare(before[key] ?? null, value, at, operations)
    else operations.push({ op: 'add', path: at, value })
  }
}

function compareLists(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  path: string,
  operations: PatchOperation[],
): void {
  const names = namesOf(before)
  const namesAfter = namesOf(after)
  if (names === undefined || namesAfter === undefined || !sameOrder(names, namesAfter)) {
    comparePositions(before, after, path, operations)
    return
  }
  const kept = new Set(namesAfter)
  const known = new Set(names)
  // From here on an index is one of the list as the operations so far have left it.
  let index = 0
  let source = 0
  const removeGone = (): void => {
    for (let name = names[source]; name !== undefined && !kept.has(name); name = names[source]) {
      operations.push({ op: 'remove', path: `${path}/${index}` })
      source += 1
    }
  }
  for (const [position, item] of after.entries()) {
    removeGone()
    if (known.has(namesAfter[position] ?? '')) {
      compare(before[source] ?? null, item, `${path}/${index}`, operations)
      source += 1
    } else {
      operations.push({ op: 'add', path: `${path}/${index}`, value: item })
    }
    index += 1
  }
  removeGone()
}

/** Item by item; what is left over at the end is added or removed. */
function comparePositions(
  before: readonly JsonValue[],
  after: readonly JsonValue[],
  path: string,
  operations: PatchOperation[],
): void {
  for (const [index, value] of after.entries()) {
    const old = before[index]
    if (old === undefined) operations.push({ op: 'add', path: `${path}/${index}`, value })
    else compare(old, value, `${path}/${index}`, operations)
  }
  for (let index = before.length - 1; index >= after.length; index -= 1)
    operations.push({ op: 'remove', path: `${path}/${index}` })
}

/** The names of the items, if each has one that no other has. */
function namesOf(list: readonly JsonValue[]): readonly string[] | undefined {
  const names = list.map((item) => (isObject(item) ? item.name : undefined))
  const texts = names.filter((name): name is string => typeof name === 'string')
  return texts.length === list.length && new Set(texts).size === list.length ? texts : undefined
}

/** True if the names that both lists have come in the same order. */
function sameOrder(a: readonly string[], b: readonly string[]): boolean {
  const inA = new Set(a)
  const inB = new Set(b)
  const common = b.filter((name) => inA.has(name))
  return a.filter((name) => inB.has(name)).every((name, index) => name === common[index])
}
