import type { EncodedResource } from '../../resources/types.js'
import type { Draft, DraftOptions, Unapplied } from './differences.js'
import { type DrainTime, RetiredResources } from '../policies/retired-resources.js'
import { Subscription } from './subscription.js'
import { TypeState } from './type-state.js'
import type { XdsType } from '../xds-types.js'
import { pushOrder } from '../xds-types.js'

/** How often listeners and routes let a response of clusters go first before they stop waiting. Bounds what a stream of cluster changes can hold back. */
const MAX_YIELDS = 3

/** A draft and the typeState that it comes from. */
export interface ScheduledDraft {
  readonly type: XdsType
  readonly typeState: TypeState
  readonly draft: Draft
}

/** Where the two variants of the protocol differ in what a response may hold. */
export interface VariantRules {
  /** Types of which each response must hold everything. */
  readonly fullState: readonly XdsType[]
  readonly stubs: Readonly<Partial<Record<XdsType, (name: string) => EncodedResource>>>
  /** True if the variant can say that something is gone, whatever the type. */
  readonly namesRemovals: boolean
}

/**
 * Decides which type is pushed next, so that a proxy never has a reference to something it does not have yet, or no longer has: clusters with their
 * endpoints, then routes of chains that stay, then listeners, then other routes, and what is gone last. Extensions wait for nothing: their content
 * never changes under a name, so they are sent when a listener that came has made the proxy request them.
 */
export class PushSchedule {
  readonly #typeStates: ReadonlyMap<XdsType, TypeState>
  /** The same as a list: it is walked several times for each response and each acknowledgement. */
  readonly #entries: readonly (readonly [XdsType, TypeState])[]
  readonly #rules: VariantRules
  readonly #retiredClusters: RetiredResources | undefined
  readonly #isClusterDue = (name: string): boolean => this.#typeStates.get('cluster')?.isDue(name) === true
  readonly #isNotLeading = (name: string): boolean => !this.#leads(name)
  #yields = 0

  /** @param drain - absent: what is gone is removed at once */
  constructor(types: readonly XdsType[], wildcardTypes: readonly XdsType[], rules: VariantRules, drain?: DrainTime) {
    this.#typeStates = new Map(
      pushOrder
        .filter((type) => types.includes(type))
        .map((type) => [type, new TypeState(new Subscription(wildcardTypes.includes(type)))]),
    )
    this.#entries = [...this.#typeStates]
    this.#rules = rules
    this.#retiredClusters = drain === undefined ? undefined : new RetiredResources(drain)
  }

  typeState(type: XdsType): TypeState | undefined {
    return this.#typeStates.get(type)
  }

  /** These clusters have changed, or are there again. */
  noteClusters(changed: readonly EncodedResource[]): void {
    for (const { name } of changed) this.#retiredClusters?.revive(name)
  }

  /** Milliseconds until {@link next} has to be asked again, whatever happens; undefined if it need not. */
  get nextInMs(): number | undefined {
    return this.#retiredClusters?.nextInMs
  }

  /** Whether responses name what is gone. */
  get namesRemovals(): boolean {
    return this.#rules.namesRemovals
  }

  get subscribedNames(): number {
    let names = 0
    for (const [, { subscription }] of this.#entries) names += subscription.size
    return names
  }

  isFullState(type: XdsType): boolean {
    return this.#rules.fullState.includes(type)
  }

  /** False if it is certain, without looking closer, that {@link next} gives nothing. */
  get mayBeDue(): boolean {
    for (const [, typeState] of this.#entries) if (typeState.mayBeDue) return true
    return false
  }

  get hasRefusals(): boolean {
    for (const [, typeState] of this.#entries) if (typeState.hasRefusals) return true
    return false
  }

  /** The next draft in order. The caller marks it as sent. */
  next(): ScheduledDraft | undefined {
    for (const [type, typeState] of this.#entries) {
      if (!typeState.mayBeDue || this.#mustWait(type)) continue
      const draft = typeState.draft(this.#options(type))
      if (draft === undefined) continue
      this.#noteYield(type)
      if (type === 'cluster') this.#rewarm(draft)
      return { type, typeState, draft }
    }
    return undefined
  }

  /** Resources that the proxy should have and has not acknowledged, as far as they come from its policy. */
  unapplied(): readonly Unapplied[] {
    const list: Unapplied[] = []
    for (const [type, typeState] of this.#entries) {
      if (!this.#matters(type)) continue
      const first = list.length
      typeState.addUnapplied(list)
      if (type !== 'secret') continue
      // Certificates and roots come from no policy, and a policy can do nothing for them.
      const secrets = list.splice(first)
      list.push(...secrets.filter(({ resource }) => resource.sources.length > 0))
    }
    // An extension that has not arrived may name routes which are requested only then.
    const routes = this.#typeStates.get('route')
    if (routes?.opened === true && this.#mayUse('extension'))
      for (const resource of routes.desired ?? []) if (!routes.subscription.has(resource.name)) list.push({ resource })
    return list
  }

  /** True while a response waits for its answer. */
  get awaitsAnswer(): boolean {
    for (const [, typeState] of this.#entries) if (typeState.inFlight !== undefined) return true
    return false
  }

  /** True if everything that the proxy requested is acknowledged and nothing is refused. */
  get settled(): boolean {
    for (const [type, typeState] of this.#entries) {
      if (!typeState.opened && this.#matters(type) && (typeState.desired?.size ?? 0) > 0) return false
      if (typeState.unsettled(this.#tellsRemovals(type) && !this.#outlives(type)) || typeState.hasRefusals) return false
    }
    return true
  }

  /**
   * Endpoints, extensions, routes and secrets are requested as clusters, listeners and extensions need them, and before those are acknowledged. So once
   * those are, what was never requested is not needed.
   */
  #matters(type: XdsType): boolean {
    if (this.#typeStates.get(type)?.opened === true) return true
    switch (type) {
      case 'cluster':
      case 'listener':
        return true
      case 'endpoints':
        return this.#mayName('cluster')
      case 'extension':
        return this.#mayName('listener')
      case 'route':
        return this.#mayName('listener') || this.#mayUse('extension')
      case 'secret':
        return false
    }
  }

  /** True if resources of the type may still make the proxy request what they name. */
  #mayName(type: XdsType): boolean {
    const typeState = this.#typeStates.get(type)
    return typeState === undefined || !typeState.opened || typeState.unsettled(false)
  }

  /** Envoy finishes warming a changed cluster only when its endpoints arrive again, changed or not. */
  #rewarm(draft: Draft): void {
    const endpoints = this.#typeStates.get('endpoints')
    if (endpoints?.desired === undefined) return
    for (const [name, resource] of draft.items)
      if (resource !== undefined && endpoints.desired.get(name) !== undefined) endpoints.resend(name)
  }

  #options(type: XdsType): DraftOptions {
    return {
      fullState: this.isFullState(type),
      removals: this.#tellsRemovals(type) && this.#mayRemove(type),
      holdBack: this.#holdBack(type),
      stub: this.#rules.stubs[type],
      retired: type === 'cluster' ? this.#retiredClusters : undefined,
    }
  }

  #holdBack(type: XdsType): DraftOptions['holdBack'] {
    if (type === 'endpoints') return this.#isClusterDue
    return type === 'route' && this.#listenersWait ? this.#isNotLeading : undefined
  }

  /**
   * Listeners and routes wait for the clusters that they may name, and routes for the listeners that may stop using them; where listeners begin to use
   * what is new in routes, it is the other way round. Listeners also wait for
   * secrets: a caller that was withdrawn must be refused before a changed filter chain makes its connections end, or it would return at once.
   */
  #mustWait(type: XdsType): boolean {
    if (type !== 'listener' && type !== 'route') return false
    if (type === 'listener' && this.#typeStates.get('secret')?.unsettled(false) === true) return true
    if (this.#yields >= MAX_YIELDS) return false
    if (this.#typeStates.get('cluster')?.unsettled(false) === true) return true
    if (this.#typeStates.get('endpoints')?.warming === true) return true
    return type === 'listener' ? this.#hasLeadingRoutes : this.#listenersWait && !this.#hasLeadingRoutes
  }

  /** Listeners are to be sent, and none is on its way. */
  get #listenersWait(): boolean {
    const listener = this.#typeStates.get('listener')
    return listener?.inFlight === undefined && listener?.unsettled(false) === true
  }

  /** Routes that the proxy has already are to hold something that listeners are about to use. Once sent, they are applied before what is sent later. */
  get #hasLeadingRoutes(): boolean {
    return this.#typeStates.get('route')?.hasDue((name) => this.#leads(name)) === true
  }

  #leads(name: string): boolean {
    return this.#typeStates.get('route')?.desired?.get(name)?.leads === true
  }

  #noteYield(type: XdsType): void {
    if (type === 'listener' || (type === 'route' && !this.#listenersWait)) this.#yields = 0
    else if ((type === 'cluster' || type === 'route') && (this.#isDue('listener') || this.#isDue('route')))
      this.#yields += 1
  }

  #isDue(type: XdsType): boolean {
    return this.#typeStates.get(type)?.unsettled(this.#tellsRemovals(type)) === true
  }

  /**
   * Extensions that are gone are never named. Envoy acknowledges a listener before it uses it, so only Envoy knows when the last filter chain with an
   * extension has ended, and gives the extension up then. Without it, the chain would close each new connection.
   */
  #tellsRemovals(type: XdsType): boolean {
    return type !== 'extension' && (this.isFullState(type) || this.#rules.namesRemovals)
  }

  /**
   * A listener is removed together with its replacement, because the new one may listen on the same address. A cluster stays while a listener,
   * extension or route may still send to it, which includes one that was refused: its last good version is in force.
   */
  #mayRemove(type: XdsType): boolean {
    switch (type) {
      case 'listener':
        return true
      case 'extension':
        return false
      case 'secret':
      case 'route':
        return !this.#mayUse('listener') && !this.#mayUse('extension')
      case 'cluster':
        return !this.#mayUse('listener') && !this.#mayUse('extension') && !this.#mayUse('route')
      case 'endpoints':
        return !this.#isDue('cluster')
    }
  }

  /** True if what is gone stays for a while on purpose: a proxy that has it still has all that it should have. */
  #outlives(type: XdsType): boolean {
    return this.#retiredClusters !== undefined && (type === 'cluster' || type === 'endpoints')
  }

  #mayUse(type: XdsType): boolean {
    const typeState = this.#typeStates.get(type)
    return typeState !== undefined && (typeState.unsettled(type === 'listener') || typeState.hasRefusals)
  }
}
