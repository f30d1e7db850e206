/** How many members a pool has at most. */
export interface PoolLimits {
  /** In all. */
  readonly max: number
  /** Of one key: a source address, or an identity. */
  readonly maxPerKey: number
}

/** Why a member has to leave. */
export type PoolLimit = 'in all' | 'per key'

/** A member that has to leave, and the limit that it exceeds. */
export interface Surplus<T> {
  /** The oldest of the key with most members, or of the key itself. */
  readonly member: T
  /** The limit that is exceeded. */
  readonly limit: PoolLimit
}

/**
 * Members with a key, bounded for each key and in all. The member that has to leave is always the oldest of the key with most members: many of one peer never push
 * out the few of another.
 */
export class ConnectionPool<T> {
  readonly #limits: PoolLimits
  readonly #members = new Map<string, Set<T>>()
  /** Keys by the number of their members, so that the largest is found at once. */
  readonly #keysBySize: Set<string>[] = []
  #size = 0

  /** A pool without members. */
  constructor(limits: PoolLimits) {
    this.#limits = limits
  }

  /** Members in all. */
  get size(): number {
    return this.#size
  }

  /** Members with a key. */
  sizeOf(key: string): number {
    return this.#members.get(key)?.size ?? 0
  }

  /** @returns the member that has to leave for the new one, which its caller deletes */
  add(key: string, member: T): Surplus<T> | undefined {
    const members = this.#members.get(key) ?? new Set<T>()
    this.#members.set(key, members)
    members.add(member)
    this.#size += 1
    this.#move(key, members.size - 1, members.size)
    if (members.size > this.#limits.maxPerKey) return surplusOf(members, 'per key')
    if (this.#size <= this.#limits.max) return undefined
    const [largest = key] = this.#keysBySize.at(-1) ?? []
    return surplusOf(this.#members.get(largest), 'in all')
  }

  /** Removes a member that may be in the pool. */
  delete(key: string, member: T): void {
    const members = this.#members.get(key)
    if (members?.delete(member) !== true) return
    this.#size -= 1
    this.#move(key, members.size + 1, members.size)
    if (members.size === 0) this.#members.delete(key)
  }

  #move(key: string, from: number, to: number): void {
    this.#keysBySize[from]?.delete(key)
    while (this.#keysBySize.length <= to) this.#keysBySize.push(new Set())
    if (to > 0) this.#keysBySize[to]?.add(key)
    while (this.#keysBySize.length > 0 && this.#keysBySize.at(-1)?.size === 0) this.#keysBySize.pop()
  }
}

function surplusOf<T>(members: ReadonlySet<T> | undefined, limit: PoolLimit): Surplus<T> | undefined {
  for (const member of members ?? []) return { member, limit }
  return undefined
}
