import type { EncodedResource } from '../../resources/types.js'
import { difference, type Difference, type Unapplied } from './differences.js'

/** What a map of differences has to ask its typeState. */
export interface DifferenceContext {
  /** What the proxy should have of a name. */
  readonly target: (name: string) => EncodedResource | undefined
  /** True while a response with that name waits for its acknowledgement. */
  readonly isInFlight: (name: string) => boolean
}

/** The resources in which a proxy is not, or may not be, where it should be. An entry goes as soon as it is known to be. */
export class DifferenceMap {
  readonly #context: DifferenceContext
  readonly #entries = new Map<string, Difference>()

  constructor(context: DifferenceContext) {
    this.#context = context
  }

  /** Resources that differ. */
  get size(): number {
    return this.#entries.size
  }

  get(name: string): Difference | undefined {
    return this.#entries.get(name)
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  names(): Iterable<string> {
    return this.#entries.keys()
  }

  [Symbol.iterator](): Iterator<[string, Difference]> {
    return this.#entries.entries()
  }

  set(name: string, entry: Difference): void {
    this.#entries.set(name, entry)
  }

  /** Forgets the names that are not to be kept. */
  retain(keep: (name: string) => boolean): void {
    for (const name of this.#entries.keys()) if (!keep(name)) this.#entries.delete(name)
  }

  /** True if something is to be sent. Removals count only if requested. */
  needs(name: string, entry: Difference, removals: boolean): boolean {
    if (entry.forced) return true
    if (entry.isCandidate) return false
    const target = this.#context.target(name)
    if (target === undefined) return removals && entry.held !== undefined
    return entry.parked?.version !== target.version && entry.held?.version !== target.version
  }

  needsAny(removals: boolean): boolean {
    // Nearly always: not even an iterator is made then.
    if (this.#entries.size === 0) return false
    for (const [name, entry] of this.#entries) if (this.needs(name, entry, removals)) return true
    return false
  }

  isCandidate(name: string): boolean {
    return this.#entries.get(name)?.isCandidate === true
  }

  /** True if the proxy has something of that name whose bytes are not known here. */
  hasUnknownBytes(name: string): boolean {
    const held = this.#entries.get(name)?.held
    return held !== undefined && held.resource === undefined
  }

  get hasRefusals(): boolean {
    if (this.#entries.size === 0) return false
    for (const [name, { parked }] of this.#entries)
      if (parked !== undefined && parked.version === this.#context.target(name)?.version) return true
    return false
  }

  /** Adds the resources that the proxy should have and has not acknowledged. */
  addUnapplied(list: Unapplied[]): void {
    for (const [name, { held, parked }] of this.#entries) {
      const resource = this.#context.target(name)
      if (resource === undefined) continue
      if (parked?.version === resource.version)
        list.push(parked.message === undefined ? { resource } : { resource, message: parked.message })
      else if (held?.version !== resource.version) list.push({ resource })
    }
  }

  /**
   * The resource is to be sent, changed or not.
   *
   * @param had - the proxy has requested it before, so that it has it unless something is written down here
   */
  force(name: string, had: boolean): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined) {
      entry.forced = true
      return
    }
    const target = this.#context.target(name)
    const held = had && target !== undefined ? { version: target.version, resource: target } : undefined
    this.#entries.set(name, difference(held, true))
  }

  /** The proxy should have something else from now on; `old` is what it should have had until now. */
  retarget(name: string, old: EncodedResource | undefined): void {
    const entry =
      this.#entries.get(name) ??
      difference(old === undefined ? undefined : { version: old.version, resource: old }, false)
    this.#entries.set(name, entry)
    entry.isCandidate = false
    if (entry.parked !== undefined) {
      // Believed to be the last good one; sent again all the same, so that a wrongly rejected resource can't stay behind.
      if (entry.held !== undefined) entry.held = { ...entry.held, version: '' }
      entry.parked = undefined
    }
    this.#settle(name, entry)
  }

  /** The proxy has acknowledged what it was sent of that name; undefined stands for nothing. */
  confirm(name: string, resource: EncodedResource | undefined): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    entry.held = resource === undefined ? undefined : { version: resource.version, resource }
    if (entry.parked?.version === resource?.version) entry.parked = undefined
    this.#settle(name, entry)
  }

  /**
   * The proxy has refused that content.
   *
   * @returns false if that is nothing new
   */
  park(resource: EncodedResource, message: string): boolean {
    const entry = this.#entries.get(resource.name) ?? difference({ version: resource.version, resource }, false)
    this.#entries.set(resource.name, entry)
    entry.isCandidate = false
    if (this.#context.target(resource.name)?.version !== resource.version) {
      // Its content has changed since it was sent: the new one is tried as if nothing had happened.
      if (entry.held !== undefined) entry.held = { ...entry.held, version: '' }
      this.#settle(resource.name, entry)
      return true
    }
    const known = entry.parked?.version === resource.version && entry.parked.message !== undefined
    entry.parked = { version: resource.version, message }
    return !known
  }

  /** The content stood in a refused response and can't be tried without what was refused. */
  leaveUnconfirmed({ name, version }: EncodedResource): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined) entry.parked = { version }
  }

  /** Sets whether the content may be the reason of a rejection that names no resource. */
  markCandidate(name: string, isCandidate: boolean): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined) entry.isCandidate = isCandidate
  }

  /** Stops saying that something is gone. */
  abandonRemoval(name: string): void {
    const entry = this.#entries.get(name)
    if (entry !== undefined && !entry.forced && this.#context.target(name) === undefined) this.#entries.delete(name)
  }

  #settle(name: string, entry: Difference): void {
    if (entry.forced || entry.isCandidate || this.#context.isInFlight(name)) return
    if (entry.held?.version === this.#context.target(name)?.version) this.#entries.delete(name)
  }
}
