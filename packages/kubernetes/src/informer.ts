import { isDeepStrictEqual } from 'node:util'

import type { DriverMetrics, Logger } from '@osm-ts/driver-api'
import type { Clock, Random } from '@osm-ts/core'
import { errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject, ObjectName, ResourceType } from './api.js'
import { informerMeter, type InformerMeter } from './informer-metrics.js'
import type { Informer, InformerChange, InformerOptions, InformerState } from './informer-types.js'
import { isKubernetesError } from './kubernetes-error.js'
import { objectKey, objectNameOf, ObjectStore, type ObjectKey } from './object-store.js'
import { Reflector, type ReflectorTarget, type Relist } from './reflector.js'

/** What an informer needs beside its options. */
export interface InformerDependencies {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: DriverMetrics
}

type Listener<T> = (changes: readonly InformerChange<T>[]) => void

/** A live copy of the objects of a kind. It begins to follow them when it is started. */
export function createInformer<T>(options: InformerOptions<T> & InformerDependencies): Informer<T> {
  return new StoreInformer(options)
}

class StoreInformer<T> implements Informer<T>, ReflectorTarget {
  readonly type: ResourceType
  readonly #options: InformerOptions<T> & InformerDependencies
  readonly #store: ObjectStore<T>
  readonly #same: (before: T, after: T) => boolean
  readonly #listeners: Listeners<readonly InformerChange<T>[]>
  readonly #meter: InformerMeter
  readonly #synced: Promise<void>
  #resolveSynced: () => void = () => undefined
  #state: InformerState = { state: 'syncing' }
  #contactAt = 0
  #run: Promise<void> | undefined

  constructor(options: InformerOptions<T> & InformerDependencies) {
    this.type = options.type
    this.#options = options
    this.#store = new ObjectStore(options.indexes)
    this.#same = options.same ?? isDeepStrictEqual
    // A listener that fails must not end the watch.
    this.#listeners = new Listeners((error) =>
      options.logger.error({ resource: options.type.plural, error: errorMessage(error) }, 'a listener failed'),
    )
    this.#meter = informerMeter(options.metrics, options.type)
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve
    })
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.#run !== undefined) throw new Error(`the informer of ${this.type.plural} was started before`)
    const { api, type, clock, random, namespace, labelSelector, fieldSelector } = this.#options
    const selection = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    }
    this.#run = new Reflector({ api, type, selection, clock, random, target: this })
      .run(signal)
      .then(() => this.#closeMeter())
    // The reflector ends with the signal only.
    await Promise.race([this.#synced, this.#run])
    if (this.#state.state === 'syncing') signal.throwIfAborted()
  }

  state(): InformerState {
    return this.#state
  }

  get(name: ObjectName): T | undefined {
    return this.#store.get(objectKey(name))
  }

  list(): readonly T[] {
    return this.#store.values()
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value)
  }

  subscribe(listener: Listener<T>): () => void {
    return this.#listeners.add(listener)
  }

  relist(): Relist {
    const listed = new Map<ObjectKey, T>()
    return {
      add: (objects) => {
        for (const object of objects) {
          const key = objectKey(object.metadata)
          const item = this.#options.project(object, this.#store.get(key))
          if (item !== undefined) listed.set(key, item)
        }
      },
      commit: () => this.#replace(listed),
    }
  }

  change({
    type,
    object,
  }: {
    readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
    readonly object: KubernetesObject
  }): void {
    this.#meter.told(type, object.metadata.namespace ?? '')
    const key = objectKey(object.metadata)
    const after = type === 'DELETED' ? undefined : this.#options.project(object, this.#store.get(key))
    const change = this.#put(key, after)
    if (change !== undefined) this.#listeners.notify([change])
  }

  contact(): void {
    this.#contactAt = this.#options.clock.now()
    if (this.#state.state !== 'stale') return
    this.#setState({ state: 'synced' })
    this.#options.logger.info({ resource: this.type.plural }, 'the API server can be reached again')
  }

  fault(error: Error): void {
    const fields = {
      resource: this.type.plural,
      error: error.message,
      ...(isKubernetesError(error) ? { code: error.code } : {}),
    }
    const before = this.#state
    if (before.state === 'synced' || (before.state === 'syncing' && before.error === undefined)) {
      this.#options.logger.warn(fields, 'objects cannot be followed; trying again')
    } else {
      this.#options.logger.debug(fields, 'objects can still not be followed')
    }
    if (before.state === 'syncing') this.#setState({ state: 'syncing', error })
    else this.#setState({ state: 'stale', since: before.state === 'stale' ? before.since : this.#contactAt, error })
  }

  ended(what: 'list' | 'watch', outcome: 'ok' | 'expired' | 'failed'): void {
    this.#meter.ended(what, outcome)
  }

  #replace(listed: ReadonlyMap<ObjectKey, T>): void {
    const changes: InformerChange<T>[] = []
    for (const key of this.#store.keys()) {
      if (listed.has(key)) continue
      const change = this.#put(key, undefined)
      if (change !== undefined) changes.push(change)
    }
    for (const [key, item] of listed) {
      const change = this.#put(key, item)
      if (change !== undefined) changes.push(change)
    }
    if (this.#state.state === 'syncing') {
      this.#setState({ state: 'synced' })
      this.#resolveSynced()
      return
    }
    if (changes.length > 0) this.#listeners.notify(changes)
  }

  /** Keeps or removes an object. Undefined if that makes no difference to anyone. */
  #put(key: ObjectKey, after: T | undefined): InformerChange<T> | undefined {
    const before = this.#store.get(key)
    if (after === undefined) {
      if (before === undefined) return undefined
      this.#store.delete(key)
      return { name: objectNameOf(key), before }
    }
    if (before !== undefined && this.#same(before, after)) return undefined
    this.#store.set(key, after)
    return { name: objectNameOf(key), ...(before === undefined ? {} : { before }), after }
  }

  #setState(state: InformerState): void {
    if (state.state === 'stale' && this.#state.state !== 'stale') this.#meter.lost()
    else if (state.state !== 'stale') this.#closeMeter()
    this.#state = state
  }

  /** Nothing is stale any more that was: contact is there again, or no one looks for it. */
  #closeMeter(): void {
    if (this.#state.state !== 'stale') return
    this.#meter.regained((this.#options.clock.now() - this.#state.since) / 1_000)
  }
}
