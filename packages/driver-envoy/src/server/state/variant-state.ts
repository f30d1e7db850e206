import type {
  EndpointsChange,
  LiveEndpoints,
  ProxyResources,
  ResourceDiff,
  ResourceSet,
} from '../../resources/types.js'
import type { Unapplied } from './differences.js'
import { NonceSource } from '../responses/nonce-source.js'
import type { ScheduledDraft, VariantRules } from './push-schedule.js'
import { PushSchedule } from './push-schedule.js'
import type { DrainTime } from '../policies/retired-resources.js'
import type { Acknowledgement, NamedResources, Push, StreamState, VersionLabels } from './push.js'
import type { ErrorDetail } from './request-codec.js'
import type { ResourceDiffer } from '../policies/translator-port.js'
import type { TypeState } from './type-state.js'
import type { XdsType } from '../xds-types.js'
import { pushOrder, xdsTypeOf } from '../xds-types.js'

/** Envoy itself cuts its words at half of that. What is longer is not searched for names: that is a proxy trying how long it takes. */
const MAX_ERROR_LENGTH = 8192

const NO_DIFF: ResourceDiff = { changed: [], removed: [], changedByName: new Map() }

/** What a stream's state machine is made with. */
export interface StreamStateOptions {
  /** Types that the stream serves. */
  readonly types: readonly XdsType[]
  /** Types for which an empty first request means everything. */
  readonly wildcardTypes: readonly XdsType[]
  /** Makes nonces unique beyond the stream; ASCII. */
  readonly tag: string
  readonly resourcesNamedBy: NamedResources
  readonly diff: ResourceDiffer
  /** How long clusters that are gone stay; absent: not at all. */
  readonly drain?: DrainTime
}

/** What both variants of the protocol share. */
export abstract class VariantState<
  Request extends { readonly typeUrl: string; readonly responseNonce: string },
> implements StreamState<Request> {
  readonly #resourcesNamedBy: NamedResources
  readonly #diff: ResourceDiffer
  readonly #nonces: NonceSource
  #labels: VersionLabels = {}
  protected readonly schedule: PushSchedule

  protected constructor(options: StreamStateOptions, rules: VariantRules) {
    this.#resourcesNamedBy = options.resourcesNamedBy
    this.#diff = options.diff
    this.#nonces = new NonceSource(options.tag)
    this.schedule = new PushSchedule(options.types, options.wildcardTypes, rules, options.drain)
  }

  request(request: Request): Acknowledgement | undefined {
    const type = xdsTypeOf(request.typeUrl)
    const typeState = type === undefined ? undefined : this.schedule.typeState(type)
    return type === undefined || typeState === undefined ? undefined : this.take(type, typeState, request)
  }

  update(resources: ProxyResources, labels: VersionLabels): void {
    this.#labels = { ...this.#labels, ...labels }
    for (const type of pushOrder) if (type !== 'secret') this.#updateType(type, resources.types[type])
  }

  showEndpoints({ current, change }: LiveEndpoints): void {
    // Before the first policy there is nothing to compare them with.
    if (this.schedule.typeState('endpoints')?.desired !== undefined) this.#updateType('endpoints', current, change)
  }

  updateSecrets(secrets: ResourceSet, label: string): void {
    this.#labels = { ...this.#labels, secret: label }
    this.#updateType('secret', secrets)
  }

  get mayBeDue(): boolean {
    return this.schedule.mayBeDue
  }

  get nextInMs(): number | undefined {
    return this.schedule.nextInMs
  }

  next(): Push | undefined {
    const due = this.schedule.next()
    if (due === undefined) return undefined
    const nonce = this.#nonces.next()
    // The version tells what the proxy has afterwards, so it is made before the draft counts as sent.
    const version = this.versionOf(due)
    due.typeState.sent(nonce, due.draft)
    this.noteSent(due.type, nonce)
    const label = this.#labels[due.type] ?? ''
    const removed = this.schedule.namesRemovals ? due.draft.removed : []
    return { type: due.type, nonce, version: version + label, resources: due.draft.resources, removed, label }
  }

  unapplied(): readonly Unapplied[] {
    return this.schedule.unapplied()
  }

  get awaitsAnswer(): boolean {
    return this.schedule.awaitsAnswer
  }

  get settled(): boolean {
    return this.schedule.settled
  }

  get hasRefusals(): boolean {
    return this.schedule.hasRefusals
  }

  get subscribedNames(): number {
    return this.schedule.subscribedNames
  }

  /** Takes a request for a type that the stream serves. */
  protected abstract take(type: XdsType, typeState: TypeState, request: Request): Acknowledgement | undefined

  /** Opens the typeState if there are both a first request and something to answer it from. */
  protected abstract open(type: XdsType, typeState: TypeState): void

  /** The version of the whole response. */
  protected abstract versionOf(due: ScheduledDraft): string

  protected abstract noteSent(type: XdsType, nonce: string): void

  /** Applies what the request says about the response in flight. */
  protected acknowledge(
    type: XdsType,
    typeState: TypeState,
    nonce: string,
    error: ErrorDetail | undefined,
  ): Acknowledgement | undefined {
    if (nonce === '' || typeState.inFlight?.nonce !== nonce) return undefined
    if (error === undefined) {
      typeState.acknowledge()
      return { kind: 'ack', type, nonce }
    }
    const message = error.message.slice(0, MAX_ERROR_LENGTH)
    const resourcesNamedBy = (resources: Parameters<NamedResources>[1]) => this.#resourcesNamedBy(message, resources)
    const refused = typeState.refuse(message, resourcesNamedBy, this.schedule.isFullState(type))
    return { kind: 'nack', type, nonce, error: { code: error.code, message }, refused }
  }

  #updateType(type: XdsType, set: ResourceSet, change?: EndpointsChange): void {
    const typeState = this.schedule.typeState(type)
    if (typeState === undefined || typeState.desired === set) return
    const before = typeState.desired
    const isKnown = change !== undefined && change.before === before
    const diff = before === undefined ? NO_DIFF : isKnown ? change.diff : this.#diff(before, set)
    typeState.update(set, diff)
    if (type === 'cluster') this.schedule.noteClusters(diff.changed)
    this.open(type, typeState)
  }
}
