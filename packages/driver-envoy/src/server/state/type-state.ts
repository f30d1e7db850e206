import type { EncodedResource, ResourceDiff, ResourceSet } from '../../resources/types.js'
import { DifferenceMap } from './difference-map.js'
import type { Draft, DraftOptions, Held, InFlight, LoneChange, OpeningClaims, Unapplied } from './differences.js'
import { difference, doubted, heldUnknown, loneChange, standIn } from './differences.js'
import type { Subscription } from './subscription.js'

/**
 * What one stream knows of one type: what the proxy should have, what it asked for, and where it differs from that.
 *
 * Nothing is kept for a resource that the proxy has acknowledged at its present version. So a proxy in rest costs one reference to a set that it
 * shares with others, and each change costs what changed.
 *
 * Nearly every change finds the proxy in rest and is acknowledged before the next one. It is kept as one change; the differences of the single resources
 * are written down only where something else happens before the acknowledgement.
 */
export class TypeState {
  readonly subscription: Subscription
  #desired: ResourceSet | undefined
  #opened = false
  readonly #differences = new DifferenceMap({
    target: (name) => this.#target(name),
    isInFlight: (name) => this.#isInFlight(name),
  })
  /** Groups of candidates for a rejection without a name, each to be sent in its own response. */
  readonly #groups: string[][] = []
  /** Names that must be sent although nothing was requested yet on this stream. */
  readonly #early = new Set<string>()
  /** The change by which alone the proxy differs, due or in flight. */
  #change: LoneChange | undefined
  #inFlight: InFlight | undefined
  #owed = false

  constructor(subscription: Subscription) {
    this.subscription = subscription
  }

  get desired(): ResourceSet | undefined {
    return this.#desired
  }

  /** True once there is both a request and something to answer it from. */
  get opened(): boolean {
    return this.#opened
  }

  get inFlight(): InFlight | undefined {
    return this.#inFlight
  }

  /** Compares what the proxy says it has with what it should have. */
  open(claims: OpeningClaims): void {
    const desired = this.#require()
    this.#opened = true
    for (const resource of desired) {
      if (!this.subscription.has(resource.name)) continue
      const version = claims.heldVersion(resource.name)
      const forced = this.#early.has(resource.name)
      const has = version === resource.version ? { version, resource } : version === undefined ? undefined : { version }
      if (version !== resource.version || forced) this.#differences.set(resource.name, difference(has, forced))
    }
    this.#early.clear()
    for (const name of claims.leftovers)
      if (this.subscription.has(name)) this.#differences.set(name, difference(heldUnknown, false))
    for (const name of this.subscription.explicit()) {
      const missing = desired.get(name) === undefined && !this.#differences.has(name)
      if (missing && !claims.knowsMissing(name)) this.#differences.set(name, difference(undefined, true))
    }
    this.#owed = claims.owed
    this.subscription.share(desired)
  }

  /** Takes over what the proxy should have from now on. `diff` is relative to the set before. */
  update(set: ResourceSet, diff: ResourceDiff): void {
    const before = this.#desired
    this.#desired = set
    if (!this.#opened || before === undefined || before === set) return
    const isRenewal = diff.removed.length === 0 && set.size === before.size
    if (isRenewal && this.#isAtRest && diff.changed.every(({ name }) => this.subscription.has(name))) {
      if (diff.changed.length > 0) this.#change = loneChange(before, diff)
    } else {
      this.#writeDown()
      for (const { name } of diff.changed) this.#retarget(name, before)
      for (const name of diff.removed) this.#retarget(name, before)
    }
    // Most changes leave the names as they are; then nothing needs to be compared.
    if (isRenewal) this.subscription.renew(before, set)
    else this.subscription.share(set)
  }

  /** The proxy requests a name, perhaps again: it is sent whether or not it has changed. */
  subscribe(name: string): void {
    this.#writeDown()
    const had = this.subscription.has(name)
    const added = this.subscription.add(name)
    if (!this.#opened) return
    if (!this.subscription.meansAll(name)) this.#differences.force(name, had)
    else if (added) this.#addAll()
  }

  /** The proxy no longer requests a name. With a wildcard in force it must be told whether it keeps the resource. */
  unsubscribe(name: string): void {
    this.#writeDown()
    if (!this.subscription.delete(name) || !this.#opened) return
    if (this.subscription.wildcard) this.#differences.force(name, true)
    else this.#differences.retain((kept) => this.subscription.has(kept))
  }

  /** Replaces the subscription by the names of a state-of-the-world request. */
  resubscribe(names: readonly string[]): void {
    this.#writeDown()
    const { added, wildcardAdded } = this.subscription.replace(names)
    if (!this.#opened) return
    this.#differences.retain((kept) => this.subscription.has(kept))
    for (const name of added) this.#differences.force(name, false)
    if (wildcardAdded) this.#addAll()
    if (added.length > 0) this.#owed = true
    this.shareNames()
  }

  /** Lets the shared set replace the names of the subscription, where they are the same. */
  shareNames(): void {
    if (this.#desired !== undefined) this.subscription.share(this.#desired)
  }

  /** Has the resource sent, changed or not, if the proxy has requested it or requests it first thing on this stream. */
  resend(name: string): void {
    this.#writeDown()
    if (!this.#opened) this.#early.add(name)
    else if (this.subscription.has(name)) this.#differences.force(name, true)
  }

  /** False if it is certain, without looking closer, that there is no {@link draft}. */
  get mayBeDue(): boolean {
    if (!this.#opened || this.#inFlight !== undefined) return false
    return this.#owed || this.#change !== undefined || this.#differences.size > 0 || this.#groups.length > 0
  }

  /** The next response, if one is due and none is in flight. */
  draft(options: DraftOptions): Draft | undefined {
    if (!this.mayBeDue) return undefined
    if (this.#change !== undefined) {
      const { draft } = this.#change
      const isHeldBack = draft.resources.some(({ name }) => options.holdBack?.(name) === true)
      if (!options.fullState && !isHeldBack) return draft
      this.#writeDown()
    }
    const stubs = new Set<string>()
    let items = this.#due(options, stubs)
    if (items.size === 0 && !this.#owed) items = this.#nextGroup()
    if (items.size === 0 && !this.#owed) return undefined
    const resources: EncodedResource[] = []
    const removed: string[] = []
    if (options.fullState) resources.push(...this.#wholeState(items))
    else
      for (const [name, resource] of items) {
        if (resource === undefined) removed.push(name)
        else resources.push(resource)
      }
    return { items, stubs, resources, removed, complete: this.#completes(items, stubs) }
  }

  /** A draft went out under that nonce. */
  sent(nonce: string, draft: Draft): void {
    let warming = false
    for (const name of draft.items.keys()) {
      const entry = this.#differences.get(name)
      if (entry === undefined) continue
      warming ||= entry.forced || entry.held === undefined
      entry.forced = false
    }
    this.#owed = false
    this.#inFlight = { nonce, items: draft.items, stubs: draft.stubs, resources: draft.resources, warming }
  }

  /** The proxy has applied what was in flight. */
  acknowledge(): InFlight | undefined {
    const sent = this.#inFlight
    this.#inFlight = undefined
    if (sent === undefined) return undefined
    if (this.#change !== undefined) {
      this.#change = undefined
      return sent
    }
    for (const [name, resource] of sent.items) {
      this.#differences.markCandidate(name, false)
      this.#differences.confirm(name, sent.stubs.has(name) ? undefined : resource)
    }
    // A full state also confirms what it carried along, be it in place of a candidate.
    for (const resource of sent.resources)
      if (!sent.items.has(resource.name)) this.#differences.confirm(resource.name, resource)
    return sent
  }

  /**
   * The proxy has refused what was in flight.
   *
   * @param resourcesNamedBy - which of the resources its words name
   * @returns the names that are parked for it
   */
  refuse(
    message: string,
    resourcesNamedBy: (resources: readonly EncodedResource[]) => readonly string[],
    fullState: boolean,
  ): readonly string[] {
    this.#writeDown()
    const sent = this.#inFlight
    this.#inFlight = undefined
    if (sent === undefined) return []
    const tried = [...sent.items.values()].filter((resource) => resource !== undefined)
    const candidates = tried.filter(
      ({ name, version }) => this.#differences.has(name) && this.#target(name)?.version === version,
    )
    const names = new Set(resourcesNamedBy(sent.resources))
    const rejected = sent.resources.filter(({ name }) => names.has(name))
    const opaque =
      fullState &&
      (rejected.length > 0 ? rejected : candidates).some(({ name }) => this.#differences.hasUnknownBytes(name))
    for (const [name, resource] of sent.items) {
      const entry = this.#differences.get(name)
      if (entry !== undefined && !names.has(name))
        entry.held = doubted(entry.held, resource, rejected.length > 0, fullState)
    }
    if (rejected.length > 0) {
      const news = rejected.filter((resource) => this.#park(resource, message))
      // A full state that must carry the refused content again would be refused again, without end: what else was in it stays unconfirmed.
      const futile = opaque || (fullState && news.length === 0)
      for (const resource of candidates) {
        if (names.has(resource.name)) continue
        this.#differences.markCandidate(resource.name, false)
        if (futile) this.#differences.leaveUnconfirmed(resource)
      }
      return news.map(({ name }) => name)
    }
    // A candidate is the reason only if it was sent alone: others may have been given up, or have changed, while the response was on its way.
    if (tried.length > 1 && candidates.length > 0 && !opaque) {
      this.#split(candidates)
      return []
    }
    // There is no content to find fault with in a response that held only removals, or answers about nothing.
    if (candidates.length === 0) for (const name of sent.items.keys()) this.#differences.abandonRemoval(name)
    return candidates.filter((resource) => this.#park(resource, message)).map(({ name }) => name)
  }

  /** True while a response that changes something is due, in flight, or split over several. Removals count only if requested. */
  unsettled(removals: boolean): boolean {
    if (this.#inFlight !== undefined || this.#change !== undefined || this.#differences.needsAny(removals)) return true
    if (this.#groups.length === 0) return false
    return this.#groups.some((group) => group.some((name) => this.#differences.isCandidate(name)))
  }

  /** True while a change of that name has not gone out. */
  isDue(name: string): boolean {
    if (this.#change !== undefined) return this.#change.draft.items.has(name) && !this.#isInFlight(name)
    const entry = this.#differences.get(name)
    if (entry === undefined || this.#isInFlight(name)) return false
    return entry.isCandidate || this.#differences.needs(name, entry, false)
  }

  /** True while a change of one of those names has not gone out. */
  hasDue(isAsked: (name: string) => boolean): boolean {
    const names = this.#change?.draft.items.keys() ?? this.#differences.names()
    for (const name of names) if (isAsked(name) && this.isDue(name)) return true
    return false
  }

  /** True while something that the proxy needs before it can use a changed parent has not arrived. */
  get warming(): boolean {
    if (this.#inFlight?.warming === true) return true
    for (const [name, entry] of this.#differences)
      if ((entry.forced || entry.held === undefined) && this.#differences.needs(name, entry, false)) return true
    return false
  }

  get hasRefusals(): boolean {
    return this.#differences.hasRefusals
  }

  /** Adds the resources that the proxy should have and has not acknowledged. */
  addUnapplied(list: Unapplied[]): void {
    if (this.#change !== undefined) for (const resource of this.#change.draft.resources) list.push({ resource })
    else if (this.#opened) this.#differences.addUnapplied(list)
    else for (const resource of this.#desired ?? []) list.push({ resource })
  }

  /** What the proxy has of a name, as far as it is known. */
  held(name: string): Held | undefined {
    this.#writeDown()
    const entry = this.#differences.get(name)
    if (entry !== undefined) return entry.held
    const resource = this.#target(name)
    return resource === undefined || !this.subscription.has(name) ? undefined : { version: resource.version, resource }
  }

  get #isAtRest(): boolean {
    return !this.mayBeDue && this.#inFlight === undefined
  }

  /** Something else than an acknowledgement happens to the change: differences of single resources are in its place. */
  #writeDown(): void {
    if (this.#change === undefined) return
    const { before, draft } = this.#change
    this.#change = undefined
    for (const { name } of draft.resources) {
      const resource = before.get(name)
      const held = resource === undefined ? undefined : { version: resource.version, resource }
      this.#differences.set(name, difference(held, false))
    }
  }

  #require(): ResourceSet {
    if (this.#desired === undefined)
      throw new TypeError('a typeState was opened before there was anything to answer from')
    return this.#desired
  }

  #target(name: string): EncodedResource | undefined {
    return this.#desired?.get(name)
  }

  #isInFlight(name: string): boolean {
    return this.#inFlight?.items.has(name) === true
  }

  #due(options: DraftOptions, stubs: Set<string>): Map<string, EncodedResource | undefined> {
    const items = new Map<string, EncodedResource | undefined>()
    for (const [name, entry] of this.#differences) {
      if (!this.#differences.needs(name, entry, options.removals)) continue
      const target = this.#target(name)
      if (target !== undefined && options.holdBack?.(name) === true) continue
      if (target === undefined) {
        if (!entry.forced && options.retired?.isOver(name) === false) continue
        if (entry.forced && options.stub !== undefined) stubs.add(name)
        items.set(name, entry.forced ? options.stub?.(name) : undefined)
      } else if (entry.isCandidate || entry.parked?.version === target.version) {
        // It is only requested again; what was refused is not tried again as long as there is something better.
        items.set(name, entry.held?.resource ?? target)
      } else items.set(name, target)
    }
    return items
  }

  #nextGroup(): Map<string, EncodedResource | undefined> {
    const items = new Map<string, EncodedResource | undefined>()
    while (items.size === 0) {
      const group = this.#groups.shift()
      if (group === undefined) break
      for (const name of group) {
        const target = this.#target(name)
        if (target !== undefined && this.#differences.isCandidate(name)) items.set(name, target)
      }
    }
    return items
  }

  *#wholeState(items: ReadonlyMap<string, EncodedResource | undefined>): Iterable<EncodedResource> {
    for (const target of this.#require()) {
      if (!this.subscription.has(target.name)) continue
      const resource = items.get(target.name) ?? standIn(target, this.#differences.get(target.name))
      if (resource !== undefined) yield resource
    }
    for (const [name, { held }] of this.#differences)
      if (this.#target(name) === undefined && !items.has(name) && held?.resource !== undefined) yield held.resource
  }

  #completes(items: ReadonlyMap<string, EncodedResource | undefined>, stubs: ReadonlySet<string>): boolean {
    if (stubs.size > 0) return false
    for (const name of this.#differences.names()) if (!items.has(name)) return false
    for (const [name, resource] of items) if (resource?.version !== this.#target(name)?.version) return false
    return true
  }

  #retarget(name: string, before: ResourceSet): void {
    if (this.subscription.has(name)) this.#differences.retarget(name, before.get(name))
  }

  /** The wildcard is new: everything that was not requested by name is new to the proxy. */
  #addAll(): void {
    this.#owed = true
    for (const { name } of this.#require())
      if (!this.subscription.names(name)) this.#differences.set(name, difference(undefined, false))
  }

  /** @returns false if that is nothing new, or the resource was given up while it was on its way */
  #park(resource: EncodedResource, message: string): boolean {
    return this.subscription.has(resource.name) && this.#differences.park(resource, message)
  }

  #split(candidates: readonly EncodedResource[]): void {
    const middle = Math.ceil(candidates.length / 2)
    for (const half of [candidates.slice(0, middle), candidates.slice(middle)]) {
      if (half.length === 0) continue
      this.#groups.push(half.map(({ name }) => name))
      for (const { name } of half) this.#differences.markCandidate(name, true)
    }
  }
}
