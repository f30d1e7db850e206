import { BucketMap } from './bucket-map.js'

/** Compares by namespace, then name, by code unit: the same on every machine, whatever its locale. */
export function compareObjects(a: Named, b: Named): number {
  const left = a.metadata
  const right = b.metadata
  if (left.namespace !== right.namespace) return left.namespace < right.namespace ? -1 : 1
  if (left.name === right.name) return 0
  return left.name < right.name ? -1 : 1
}

/** What the index needs to know of its items. Two items of equal names are two versions of one object. */
export interface Named {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

/** An object that came, went, or changed. */
export interface Edit<T> {
  readonly before: T | undefined
  readonly after: T | undefined
}

const none: readonly never[] = Object.freeze([])

/** An immutable index from keys to lists of objects, each sorted by namespace and name. */
export class SortedIndex<T extends Named> {
  readonly #keysOf: (object: T) => Iterable<string>
  readonly #lists: BucketMap<readonly T[]>

  private constructor(keysOf: (object: T) => Iterable<string>, lists: BucketMap<readonly T[]>) {
    this.#keysOf = keysOf
    this.#lists = lists
  }

  /** @param keysOf - the keys under which an object is found, without repetition */
  static create<T extends Named>(keysOf: (object: T) => Iterable<string>): SortedIndex<T> {
    return new SortedIndex(keysOf, BucketMap.empty())
  }

  get(key: string): readonly T[] {
    return this.#lists.get(key) ?? none
  }

  keys(): IterableIterator<string> {
    return this.#lists.keys()
  }

  /** The index after the edits. Only the lists they touch are copied, each once. */
  with(edits: Iterable<Edit<T>>): SortedIndex<T> {
    const touched = new Map<string, { removed: Set<T>; added: T[] }>()
    const touch = (key: string): { removed: Set<T>; added: T[] } => {
      let entry = touched.get(key)
      if (entry === undefined) {
        entry = { removed: new Set(), added: [] }
        touched.set(key, entry)
      }
      return entry
    }
    for (const { before, after } of edits) {
      if (before !== undefined) for (const key of this.#keysOf(before)) touch(key).removed.add(before)
      if (after !== undefined) for (const key of this.#keysOf(after)) touch(key).added.push(after)
    }
    if (touched.size === 0) return this
    const lists = [...touched].map(([key, { removed, added }]) => [key, merge(this.get(key), removed, added)] as const)
    return new SortedIndex(this.#keysOf, this.#lists.with(lists))
  }
}

/** From this many edits for each item on it is cheaper to go through the whole list. */
const bulkShare = 1 / 32

/** The list without what was removed and with what was added, still sorted; undefined when nothing is left. */
function merge<T extends Named>(
  list: readonly T[],
  removed: ReadonlySet<T>,
  added: readonly T[],
): readonly T[] | undefined {
  const isBulk = removed.size + added.length > list.length * bulkShare
  const merged = isBulk ? mergeAll(list, removed, added) : mergeFew(list, removed, added)
  return merged.length === 0 ? undefined : Object.freeze(merged)
}

function mergeFew<T extends Named>(list: readonly T[], removed: ReadonlySet<T>, added: readonly T[]): T[] {
  // Not slice(): that is slow for frozen arrays.
  const merged = [...list]
  for (const item of removed) merged.splice(placeOf(merged, item), 1)
  for (const item of added) merged.splice(placeOf(merged, item), 0, item)
  return merged
}

/** Index of the first item that does not come before this one. */
function placeOf<T extends Named>(list: readonly T[], item: T): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const candidate = list[middle]
    if (candidate !== undefined && compareObjects(candidate, item) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function mergeAll<T extends Named>(list: readonly T[], removed: ReadonlySet<T>, added: readonly T[]): T[] {
  const fresh = added.toSorted(compareObjects)
  const merged: T[] = []
  let next = 0
  for (const item of list) {
    if (removed.has(item)) continue
    for (let one = fresh[next]; one !== undefined && compareObjects(one, item) < 0; one = fresh[next]) {
      merged.push(one)
      next += 1
    }
    merged.push(item)
  }
  return merged.concat(fresh.slice(next))
}
