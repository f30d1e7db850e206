import type { Logger } from '@osm-ts/driver-api'
import { type Clock, type Kind, kindDefinitions, type ObjectDecoder, pause, type Random } from '@osm-ts/core'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import type { ResourceType, Selection } from '../api.js'
import type { Informer } from '../informer-types.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { resourceTypes } from '../resource-types.js'
import type { Discovery, ServedKind } from './discovery.js'
import { followed, joinedSignal, type InformerFactory } from './informer-factory.js'
import type { Freshness } from './namespace-scope.js'
import { readObject, sameWritten, type WrittenObject } from './written-object.js'

/** How a kind of the mesh is followed. */
export interface KindFollowerOptions {
  readonly kind: Kind
  /** Which objects; all of the cluster when empty. */
  readonly selection: Selection
  readonly discovery: Discovery
  readonly informers: InformerFactory
  readonly decoder: ObjectDecoder
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly onChange: (changes: readonly KindChange[]) => void
  /** Called when the kind has come or gone. */
  readonly onPresence: () => void
}

/** A change of one object. */
export interface KindChange {
  readonly before?: WrittenObject
  readonly after?: WrittenObject
}

/** How soon a kind that the API server does not serve, or does not list yet, is looked for again, in milliseconds. */
const MISSING_RETRY_MS = 5_000
/** How often it is looked whether a kind is served in another version, in milliseconds. */
const VERSION_CHECK_MS = 60_000
/** How often an informer is asked whether its kind has gone, in milliseconds. */
const GONE_CHECK_MS = 2_000
/** How soon the API server is asked again after it did not say what it serves. */
const RETRY = { firstMs: 500, lastMs: 10_000 }

interface Followed {
  readonly served: ServedKind
  readonly informer: Informer<WrittenObject>
  readonly end: AbortController
}

/**
 * Follows the objects of one kind of custom resources, in the best version that the API server serves. The kind may come,
 * go and change its version at any time.
 */
export class KindFollower {
  readonly kind: Kind
  readonly #options: KindFollowerOptions
  readonly #versions: readonly string[]
  #followed: Followed | undefined
  #missing = false

  constructor(options: KindFollowerOptions) {
    const { apiVersion, alsoAccepted } = kindDefinitions[options.kind]
    this.kind = options.kind
    this.#options = options
    this.#versions = [apiVersion, ...alsoAccepted].map((version) => version.slice(version.indexOf('/') + 1))
  }

  /** True once it is known that the API server does not serve the kind. */
  get missing(): boolean {
    return this.#missing
  }

  /** As what the kind is served, once that is known. */
  get served(): ServedKind | undefined {
    return this.#followed?.served
  }

  /** All objects, as they are written. */
  list(): readonly WrittenObject[] {
    return this.#followed?.informer.list() ?? []
  }

  inNamespace(namespace: string): readonly WrittenObject[] {
    return this.#followed?.informer.byIndex('namespace', namespace) ?? []
  }

  get(namespace: string, name: string): WrittenObject | undefined {
    return this.#followed?.informer.get({ namespace, name })
  }

  freshness(): Freshness {
    if (this.#missing) return { state: 'fresh' }
    const state = this.#followed?.informer.state() ?? { state: 'syncing' }
    if (state.state === 'stale') return state
    return { state: state.state === 'synced' ? 'fresh' : 'unknown' }
  }

  /** Follows the kind until the signal aborts. Calls back once: when all objects are there, or the kind is known to be missing. */
  async run(signal: AbortSignal, onFirst: () => void): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#look(signal)
        failures = 0
        if (this.#missing || this.#followed !== undefined) onFirst()
        await this.#idle(signal)
      } catch (error) {
        failures += 1
        await this.#afterFailure(error, failures, signal)
      }
    }
  }

  async #afterFailure(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { clock, random, logger } = this.#options
    const reason = errorMessage(error)
    logger.warn({ kind: this.kind, reason }, 'cannot find out whether the API server serves a kind')
    await pause(clock, backoffMs(failures, RETRY, random), signal)
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { discovery, selection } = this.#options
    const served = await discovery.find(resourceTypes[this.kind], this.#versions, selection, signal)
    const current = this.#followed
    if (served === undefined) {
      // What can still be listed is served, whatever discovery says of it.
      if (current === undefined || isGone(current.informer)) this.#leave()
      return
    }
    if (current?.served.type.version === served.type.version) {
      this.#followed = { ...current, served }
      // A status that could not be written before can be now: anyone who writes it has to hear of the objects again.
      if (current.served.hasStatus !== served.hasStatus)
        this.#options.onChange(this.list().map((item) => ({ before: item, after: item })))
      return
    }
    await this.#follow(served, signal)
  }

  /** Follows the kind in a version. What was followed before stays in force until all objects are there. */
  async #follow(served: ServedKind, signal: AbortSignal): Promise<void> {
    const end = new AbortController()
    const informer = this.#informer(served.type)
    informer.subscribe((changes) => {
      if (this.#followed?.informer === informer) this.#options.onChange(changes)
    })
    const waiting = new AbortController()
    let complete: boolean
    try {
      complete = await Promise.race([
        followed(informer, joinedSignal(signal, end.signal)),
        this.#goneBeforeListed(informer, joinedSignal(signal, waiting.signal)),
      ])
    } finally {
      waiting.abort()
    }
    if (!complete) {
      end.abort()
      return
    }
    const before = new Map(this.list().map((item) => [item.key, item]))
    this.#followed?.end.abort()
    this.#followed = { served, informer, end }
    const wasMissing = this.#missing
    this.#missing = false
    const after = informer.list()
    const changes = after.map((item) => ({ ...optional('before', before.get(item.key)), after: item }))
    for (const { key } of after) before.delete(key)
    this.#options.onChange([...changes, ...[...before.values()].map((item) => ({ before: item }))])
    if (!wasMissing) return
    this.#options.logger.info(
      { kind: this.kind, version: served.type.version },
      'the API server serves a kind from now on',
    )
    this.#options.onPresence()
  }

  /** Resolves with false if the kind goes before it has been listed once, or when the signal aborts. */
  async #goneBeforeListed(informer: Informer<WrittenObject>, signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && !isGone(informer)) await this.#pause(GONE_CHECK_MS, signal)
    return false
  }

  #leave(): void {
    const items = this.list()
    const wasMissing = this.#missing
    this.#followed?.end.abort()
    this.#followed = undefined
    this.#missing = true
    if (items.length > 0) this.#options.onChange(items.map((before) => ({ before })))
    if (wasMissing) return
    const level = kindDefinitions[this.kind].foreign ? 'info' : 'warn'
    this.#options.logger[level]({ kind: this.kind }, 'the API server does not serve a kind that the mesh reads')
    this.#options.onPresence()
  }

  /** Waits until it is time to look again. */
  async #idle(signal: AbortSignal): Promise<void> {
    if (this.#followed?.served.isListed !== true) {
      await this.#pause(MISSING_RETRY_MS, signal)
      return
    }
    const until = this.#options.clock.now() + VERSION_CHECK_MS
    while (!signal.aborted && this.#options.clock.now() < until) {
      if (isGone(this.#followed.informer)) return this.#pause(GONE_CHECK_MS, signal)
      await this.#pause(GONE_CHECK_MS, signal)
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    return pause(clock, ms * (0.8 + 0.4 * random()), signal)
  }

  #informer(type: ResourceType): Informer<WrittenObject> {
    const { kind, selection, informers, decoder } = this.#options
    return informers({
      ...selection,
      type,
      project: (raw) => readObject(raw, { decoder, kind, type, labels: isSelected(kind), facts: true }),
      same: sameWritten,
      indexes: { namespace: ({ namespace }) => [namespace] },
    })
  }
}

/** True for kinds that Services select by their labels; the labels of others change often and mean nothing. */
function isSelected(kind: Kind): boolean {
  return kind === 'ExternalWorkload'
}

/** True if the API server said that there is no such kind. */
function isGone(informer: Informer<WrittenObject>): boolean {
  const state = informer.state()
  const error = state.state === 'synced' ? undefined : state.error
  return isKubernetesError(error) && error.notFound
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [name in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [name in K]?: V } // one member of that name, or none
}
