import type { ObjectName } from './api.js'

/** Key of an object: its namespace, a slash, its name. Neither can hold a slash. */
export type ObjectKey = string

export function objectKey({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): ObjectKey {
  return `${namespace}/${name}`
}

export function objectNameOf(key: ObjectKey): ObjectName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Keys under a value of an index. Most values have one key, and a set for it would weigh more than the object. */
type Entry = ObjectKey | Set<ObjectKey>

interface Index<T> {
  readonly valuesOf: (item: T) => readonly string[]
  readonly entries: Map<string, Entry>
}

/** Objects by key, and by the values of named indexes. */
export class ObjectStore<T> {
  readonly #items = new Map<ObjectKey, T>()
  readonly #indexes: ReadonlyMap<string, Index<T>>

  constructor(indexes: Readonly<Record<string, (item: T) => readonly string[]>> = {}) {
    const entries = Object.entries(indexes)
    this.#indexes = new Map(entries.map(([name, valuesOf]) => [name, { valuesOf, entries: new Map<string, Entry>() }]))
  }

  get size(): number {
    return this.#items.size
  }

  get(key: ObjectKey): T | undefined {
    return this.#items.get(key)
  }

  keys(): IterableIterator<ObjectKey> {
    return this.#items.keys()
  }

  values(): T[] {
    return [...this.#items.values()]
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name)
    if (index === undefined) throw new RangeError(`there is no index ${name}`)
    const entry = index.entries.get(value)
    if (entry === undefined) return []
    const keys = typeof entry === 'string' ? [entry] : [...entry]
    return keys.flatMap((key) => {
      const item = this.#items.get(key)
      return item === undefined ? [] : [item]
    })
  }

  set(key: ObjectKey, item: T): void {
    this.#unindex(key)
    this.#items.set(key, item)
    for (const { valuesOf, entries } of this.#indexes.values()) {
      for (const value of valuesOf(item)) addKey(entries, value, key)
    }
  }

  delete(key: ObjectKey): void {
    this.#unindex(key)
    this.#items.delete(key)
  }

  #unindex(key: ObjectKey): void {
    const item = this.#items.get(key)
    if (item === undefined) return
    for (const { valuesOf, entries } of this.#indexes.values()) {
      for (const value of valuesOf(item)) removeKey(entries, value, key)
    }
  }
}

function addKey(entries: Map<string, Entry>, value: string, key: ObjectKey): void {
  const entry = entries.get(value)
  if (entry === undefined || entry === key) entries.set(value, key)
  else if (typeof entry === 'string') entries.set(value, new Set([entry, key]))
  else entry.add(key)
}

function removeKey(entries: Map<string, Entry>, value: string, key: ObjectKey): void {
  const entry = entries.get(value)
  if (entry === key) {
    entries.delete(value)
  } else if (entry instanceof Set) {
    entry.delete(key)
    if (entry.size === 0) entries.delete(value)
  }
}
