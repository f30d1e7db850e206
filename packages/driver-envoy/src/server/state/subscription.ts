import type { ResourceSet } from '../../resources/types.js'

/** The name that stands for "everything that is mine". */
const WILDCARD = '*'

/**
 * What a stream has requested of one type.
 *
 * Nearly every proxy requests exactly what it is offered. Then the names of the shared set replace its own list, so that a thousand names are
 * not kept once per proxy.
 */
export class Subscription {
  readonly #allowsWildcard: boolean
  #wildcard = false
  /** True once a name was requested: from then on an empty list means nothing, no longer everything. */
  #everNamed = false
  #own = new Set<string>()
  #shared: ResourceSet | undefined

  /** @param allowsWildcard - whether {@link WILDCARD}, or an empty first request, means everything */
  constructor(allowsWildcard: boolean) {
    this.#allowsWildcard = allowsWildcard
  }

  get wildcard(): boolean {
    return this.#wildcard
  }

  /** Number of names asked for one by one. */
  get size(): number {
    return this.#shared?.size ?? this.#own.size
  }

  /** True if that name stands for everything here. */
  meansAll(name: string): boolean {
    return name === WILDCARD && this.#allowsWildcard
  }

  has(name: string): boolean {
    return this.#wildcard || this.names(name)
  }

  /** True if the name was requested by itself, whatever the wildcard says. */
  names(name: string): boolean {
    return this.#shared === undefined ? this.#own.has(name) : this.#shared.get(name) !== undefined
  }

  *explicit(): Iterable<string> {
    if (this.#shared === undefined) yield* this.#own
    else for (const { name } of this.#shared) yield name
  }

  /** A first request without names. */
  startEmpty(): void {
    this.#wildcard = this.#allowsWildcard
  }

  /** @returns false if the name was there already */
  add(name: string): boolean {
    this.#everNamed = true
    if (this.meansAll(name)) {
      const added = !this.#wildcard
      this.#wildcard = true
      return added
    }
    if (this.names(name)) return false
    this.#ownNames().add(name)
    return true
  }

  /** @returns false if the name was not there */
  delete(name: string): boolean {
    if (this.meansAll(name)) {
      const removed = this.#wildcard
      this.#wildcard = false
      return removed
    }
    return this.names(name) && this.#ownNames().delete(name)
  }

  /**
   * Replaces everything by the names of a state-of-the-world request.
   *
   * @returns the names that were not covered before, and whether the wildcard is new
   */
  replace(names: readonly string[]): { readonly added: readonly string[]; readonly wildcardAdded: boolean } {
    if (names.length === 0 && !this.#everNamed) {
      const wildcardAdded = this.#allowsWildcard && !this.#wildcard
      this.startEmpty()
      return { added: [], wildcardAdded }
    }
    this.#everNamed = true
    const wildcard = this.#allowsWildcard && names.includes(WILDCARD)
    const wildcardAdded = wildcard && !this.#wildcard
    const wanted = new Set(names)
    if (wildcard) wanted.delete(WILDCARD)
    this.#wildcard = wildcard
    const added = [...wanted].filter((name) => !this.names(name))
    if (added.length === 0 && wanted.size === this.size) return { added, wildcardAdded }
    this.#shared = undefined
    this.#own = wanted
    return { added, wildcardAdded }
  }

  /** True if exactly the names of the set are covered. */
  covers(set: ResourceSet): boolean {
    if (this.#wildcard) {
      for (const name of this.explicit()) if (set.get(name) === undefined) return false
      return true
    }
    if (this.#shared === set) return true
    if (this.size !== set.size) return false
    for (const { name } of set) if (!this.names(name)) return false
    return true
  }

  /** Lets the set replace the own list where they hold the same names. */
  share(set: ResourceSet): void {
    if (this.#shared === set || this.#wildcard) return
    if (this.#shared === undefined && this.#own.size === 0) return
    if (this.covers(set)) {
      this.#shared = set
      this.#own = new Set()
    } else if (this.#shared !== undefined) {
      this.#ownNames()
    }
  }

  /** Another set with the same names takes the place of one that replaces the own list. */
  renew(before: ResourceSet, after: ResourceSet): void {
    if (this.#shared === before) this.#shared = after
  }

  #ownNames(): Set<string> {
    if (this.#shared !== undefined) {
      this.#own = new Set(this.explicit())
      this.#shared = undefined
    }
    return this.#own
  }
}
