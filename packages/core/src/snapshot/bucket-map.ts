const bucketCount = 512

type Bucket<V> = ReadonlyMap<string, V>

/**
 * An immutable map that shares what did not change.
 *
 * Entries are spread over a fixed number of buckets; a new version copies the list of buckets and the touched ones. At
 * ten thousand entries a change copies about 500 references and 20 entries.
 */
export class BucketMap<V> {
  readonly #buckets: readonly (Bucket<V> | undefined)[]
  readonly size: number

  private constructor(buckets: readonly (Bucket<V> | undefined)[], size: number) {
    this.#buckets = buckets
    this.size = size
  }

  static empty<V>(): BucketMap<V> {
    return new BucketMap<V>(new Array<Bucket<V> | undefined>(bucketCount).fill(undefined), 0)
  }

  get(key: string): V | undefined {
    return this.#buckets[bucketOf(key)]?.get(key)
  }

  /** Keys in no particular order. */
  *keys(): IterableIterator<string> {
    for (const bucket of this.#buckets) if (bucket !== undefined) yield* bucket.keys()
  }

  /** The map with these entries set; `undefined` removes one. */
  with(edits: Iterable<readonly [string, V | undefined]>): BucketMap<V> {
    const buckets = [...this.#buckets]
    const copied = new Map<number, Map<string, V>>()
    let size = this.size
    for (const [key, value] of edits) {
      const index = bucketOf(key)
      let bucket = copied.get(index)
      if (bucket === undefined) {
        bucket = new Map(buckets[index])
        copied.set(index, bucket)
        buckets[index] = bucket
      }
      size -= bucket.size
      if (value === undefined) bucket.delete(key)
      else bucket.set(key, value)
      size += bucket.size
    }
    return copied.size === 0 ? this : new BucketMap(buckets, size)
  }
}

/**
 * FNV-1a over UTF-16 code units; spread matters here, not resistance to chosen keys: a bad bucket is still a hash map.
 */
function bucketOf(key: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < key.length; index += 1) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % bucketCount
}
