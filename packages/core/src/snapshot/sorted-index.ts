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

/** The list without what was removed and with what was added, still sorted; undefined when nothing is left. */
function merge<T extends Named>(list: readonly T[], removed: ReadonlySet<T>, added: T[]): readonly T[] | undefined {
  const kept = removed.size === 0 ? list : list.filter((item) => !removed.has(item))
  if (added.length === 0) return kept.length === 0 ? undefined : Object.freeze(kept)
  added.sort(compareObjects)
  const merged: T[] = []
  let next = 0
  for (const item of kept) {
    for (
      let candidate = added[next];
      candidate !== undefined && compareObjects(candidate, item) < 0;
      candidate = added[next]
    ) {
      merged.push(candidate)
      next += 1
    }
    merged.push(item)
  }
  return Object.freeze(merged.concat(added.slice(next)))
}
