import type { Steps } from './async/in-turns.js'

/** Members or items that one step writes: fewer than a page notices, enough that steps cost little. */
const BATCH = 16

/**
 * The text that `JSON.stringify` makes of a value, in steps of a few members or items. A page of a large mesh is megabytes of text, which
 * `JSON.stringify` alone makes in one turn of the event loop.
 */
export function* jsonInSteps(value: unknown): Steps<string> {
  const pieces: string[] = []
  yield* write(value, pieces)
  return pieces.join('')
}

function* write(value: unknown, pieces: string[]): Steps<void> {
  if (Array.isArray(value)) yield* writeArray(value, pieces)
  else if (isPlainObject(value)) yield* writeObject(value, pieces)
  // Null for what JSON cannot write, as inside a list.
  else pieces.push(JSON.stringify([value]).slice(1, -1))
}

function* writeArray(items: readonly unknown[], pieces: string[]): Steps<void> {
  pieces.push('[')
  for (let at = 0; at < items.length; at += items.length > BATCH ? BATCH : 1) {
    if (at > 0) pieces.push(',')
    // A long list is of small items. A short one may be of large items, such as route tables.
    if (items.length > BATCH) pieces.push(JSON.stringify(items.slice(at, at + BATCH)).slice(1, -1))
    else yield* write(items[at], pieces)
    yield
  }
  pieces.push(']')
}

function* writeObject(object: Readonly<Record<string, unknown>>, pieces: string[]): Steps<void> {
  const entries = Object.entries(object)
  const isLong = entries.length > BATCH
  let separator = '{'
  for (let at = 0; at < entries.length; at += isLong ? BATCH : 1) {
    if (isLong) {
      const members = JSON.stringify(Object.fromEntries(entries.slice(at, at + BATCH))).slice(1, -1)
      if (members !== '') pieces.push(separator, members)
      separator = members === '' ? separator : ','
    } else {
      const [name, member] = entries[at] as readonly [string, unknown]
      if (isOmitted(member)) continue
      pieces.push(separator, JSON.stringify(name), ':')
      separator = ','
      yield* write(member, pieces)
    }
    yield
  }
  pieces.push(separator === '{' ? '{}' : '}')
}

/** What `JSON.stringify` leaves out of an object. */
function isOmitted(member: unknown): boolean {
  return member === undefined || typeof member === 'function' || typeof member === 'symbol'
}

/** Instances of classes, and what has a form of its own, are written as a whole. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === 'function') return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
