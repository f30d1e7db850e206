import type { TranslatedType } from '../../src/resources/types.js'
import type { Push, StreamState } from '../../src/server/state/push.js'
import type { DrainTime } from '../../src/server/policies/retired-resources.js'
import type { DeltaRequest, StateOfTheWorldRequest } from '../../src/server/state/request-codec.js'
import type { ModelProxy } from './model-proxy.js'
import { delta, deltaState, sotw, stateOfTheWorld } from './streams.js'

const types: readonly TranslatedType[] = ['cluster', 'endpoints', 'listener', 'extension', 'route']

/** The protocol half of the model: what it says on its stream. It survives streams, as the proxy does. */
export interface ModelClient {
  /** A stream breaks and another one opens, perhaps to another server. */
  reconnect(): StreamState<never>
  /** Requests that have not reached the server. */
  readonly outbox: unknown[]
  receive(push: Push): void
}

const isTranslated = (type: string): type is TranslatedType => types.some((known) => known === type)

export class DeltaClient implements ModelClient {
  outbox: DeltaRequest[] = []
  readonly #proxy: ModelProxy
  readonly #drain: DrainTime
  readonly #versions = new Map<TranslatedType, Map<string, string>>(types.map((type) => [type, new Map()]))
  #asked = new Map<TranslatedType, Set<string>>()

  constructor(proxy: ModelProxy, drain: DrainTime) {
    this.#proxy = proxy
    this.#drain = drain
  }

  reconnect(): StreamState<never> {
    this.outbox = []
    this.#asked = new Map()
    for (const type of types) {
      const wanted = this.#proxy.wants(type)
      if (wanted === undefined || wanted.length > 0) this.#open(type, wanted)
    }
    return deltaState({ drain: this.#drain })
  }

  receive(push: Push): void {
    if (!isTranslated(push.type)) return
    const message = this.#proxy.apply(push.type, push, false)
    const versions = this.#versionsOf(push.type)
    if (message === undefined) {
      for (const { name, version } of push.resources) versions.set(name, version)
      for (const name of push.removed) versions.delete(name)
    }
    // What the change refers to is requested before the change is acknowledged.
    if (push.type === 'cluster') this.#subscribe('endpoints')
    if (push.type === 'listener') this.#subscribe('extension')
    if (push.type === 'listener' || push.type === 'extension') this.#subscribe('route')
    this.outbox.push(
      delta(push.type, {
        responseNonce: push.nonce,
        ...(message !== undefined && { errorDetail: { code: 13, message } }),
      }),
    )
  }

  #open(type: TranslatedType, wanted: readonly string[] | undefined): void {
    const versions = this.#versionsOf(type)
    if (wanted !== undefined) for (const name of versions.keys()) if (!wanted.includes(name)) versions.delete(name)
    this.#asked.set(type, new Set(wanted))
    this.outbox.push(delta(type, { subscribe: wanted ?? [], initialVersions: new Map(versions) }))
  }

  #subscribe(type: TranslatedType): void {
    const wanted = this.#proxy.wants(type) ?? []
    const asked = this.#asked.get(type)
    if (asked === undefined) {
      if (wanted.length > 0) this.#open(type, wanted)
      return
    }
    const subscribe = wanted.filter((name) => !asked.has(name))
    const unsubscribe = [...asked].filter((name) => !wanted.includes(name))
    for (const name of unsubscribe) this.#versionsOf(type).delete(name)
    this.#asked.set(type, new Set(wanted))
    if (subscribe.length + unsubscribe.length > 0) this.outbox.push(delta(type, { subscribe, unsubscribe }))
  }

  #versionsOf(type: TranslatedType): Map<string, string> {
    const versions = this.#versions.get(type)
    if (versions === undefined) throw new Error(`no versions of ${type}`)
    return versions
  }
}

export class StateOfTheWorldClient implements ModelClient {
  outbox: StateOfTheWorldRequest[] = []
  readonly #proxy: ModelProxy
  readonly #drain: DrainTime
  readonly #versions = new Map<TranslatedType, string>()
  #nonces = new Map<TranslatedType, string>()
  #asked = new Map<TranslatedType, string>()

  constructor(proxy: ModelProxy, drain: DrainTime) {
    this.#proxy = proxy
    this.#drain = drain
  }

  reconnect(): StreamState<never> {
    this.outbox = []
    this.#nonces = new Map()
    this.#asked = new Map()
    for (const type of types) {
      const wanted = this.#proxy.wants(type)
      if (wanted === undefined || wanted.length > 0) this.#say(type)
    }
    return stateOfTheWorld({ drain: this.#drain })
  }

  receive(push: Push): void {
    if (!isTranslated(push.type)) return
    const fullState = push.type === 'cluster' || push.type === 'listener'
    const message = this.#proxy.apply(push.type, push, fullState)
    if (message === undefined) this.#versions.set(push.type, push.version)
    if (push.type === 'cluster') this.#subscribe('endpoints')
    if (push.type === 'listener') this.#subscribe('extension')
    if (push.type === 'listener' || push.type === 'extension') this.#subscribe('route')
    this.#nonces.set(push.type, push.nonce)
    this.#say(push.type, message)
  }

  #subscribe(type: TranslatedType): void {
    const wanted = (this.#proxy.wants(type) ?? []).join()
    const asked = this.#asked.get(type)
    if (asked === undefined ? wanted !== '' : asked !== wanted) this.#say(type)
  }

  #say(type: TranslatedType, message?: string): void {
    const resourceNames = this.#proxy.wants(type) ?? []
    this.#asked.set(type, resourceNames.join())
    this.outbox.push(
      sotw(type, {
        resourceNames,
        versionInfo: this.#versions.get(type) ?? '',
        responseNonce: this.#nonces.get(type) ?? '',
        ...(message !== undefined && { errorDetail: { code: 13, message } }),
      }),
    )
  }
}
