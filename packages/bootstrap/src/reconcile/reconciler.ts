import type { Clock, Random } from '@osm-ts/core'
import { createInformer, type Informer, type KubernetesApi, type ResourceType, WorkQueue } from '@osm-ts/kubernetes'
import { type DriverMetrics, isOsmError, type Logger } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { keyOf, type KeptObject } from './kept-object.js'

/** What a {@link Reconciler} is made of. */
export interface ReconcilerOptions {
  readonly api: KubernetesApi
  readonly objects: readonly KeptObject[]
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: DriverMetrics
  /** Tells users, by an event. */
  readonly report: (reason: string, message: string) => void
}

/** Why an object is written again. */
type Reason = 'altered' | 'deleted' | 'renewed'

/** Somebody who writes an object whenever we do is answered once a second, not as fast as the API server goes. */
const SHORTEST_INTERVAL_MS = 1_000
/** After so many answers within ten minutes, less and less often: another mesh may want a definition in another version. */
const RESTORE_LIMIT = { restores: 10, withinMs: 600_000, longestMs: 300_000 }
const CONCURRENCY = 4

/**
 * Keeps objects as they were written.
 *
 * What counts as a change is decided by comparison with what the API server gave back when the object was written, not
 * with what was sent: so fields that it fills in or does not know are never taken for somebody's change.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #objects: ReadonlyMap<string, KeptObject>
  readonly #queue: WorkQueue
  /** Fingerprints of the objects as they were written; undefined for one that shall not exist. */
  readonly #written = new Map<string, string | undefined>()
  readonly #writtenAt = new Map<string, number>()
  /** When an object was restored lately. */
  readonly #restoredAt = new Map<string, readonly number[]>()
  /** Objects that have to be written whatever there is, with the reason. */
  readonly #due = new Map<string, Reason>()
  readonly #count: ReturnType<DriverMetrics['counter']>

  constructor(options: ReconcilerOptions) {
    this.#options = options
    this.#objects = new Map(options.objects.map((object) => [keyOf(object), object]))
    this.#count = options.metrics.counter('osm_reconciliation_total', 'Objects restored by the reconciler', ['kind'])
    this.#queue = new WorkQueue({
      handle: (key, signal) => this.#handle(key, signal),
      concurrency: CONCURRENCY,
      clock: options.clock,
      random: options.random,
      onFault: (key, error, failures) => this.#failed(key, error, failures),
    })
  }

  /** Writes an object now. */
  async write(object: KeptObject, signal: AbortSignal): Promise<void> {
    const key = keyOf(object)
    const stored = await object.write(signal)
    this.#writtenAt.set(key, this.#options.clock.now())
    await object.afterWrite?.(signal)
    this.#written.set(key, stored && object.fingerprint(stored))
  }

  /** Has objects written again soon, because what they should be has changed. */
  renew(objects: readonly KeptObject[]): void {
    for (const object of objects) {
      this.#due.set(keyOf(object), 'renewed')
      this.#queue.add(keyOf(object))
    }
  }

  /** Writes what {@link renew} requests until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#queue.run(signal)
  }

  /** Restores what others change, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#informers().map((informer) => this.#follow(informer, signal)))
  }

  async #follow(informer: Informer<string>, signal: AbortSignal): Promise<void> {
    const unsubscribe = informer.subscribe((changes) => {
      for (const { name, after } of changes) this.#check(`${informer.type.kind}/${name.name}`, after)
    })
    signal.addEventListener('abort', unsubscribe, { once: true })
    try {
      await informer.start(signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    // The first list is told to no one, and a change may lie between the write and the list.
    for (const object of this.#objects.values()) {
      if (object.type.kind !== informer.type.kind) continue
      this.#check(keyOf(object), informer.get({ namespace: '', name: object.name }))
    }
  }

  #check(key: string, found: string | undefined): void {
    if (this.#objects.has(key) && this.#written.get(key) !== found) this.#queue.add(key)
  }

  async #handle(key: string, signal: AbortSignal): Promise<void> {
    const object = this.#objects.get(key)
    if (object === undefined) return
    const reason = this.#due.get(key) ?? (await this.#reasonOf(object, signal))
    if (reason === undefined) return
    this.#due.delete(key)
    try {
      await this.write(object, signal)
    } catch (error) {
      // Half of it may be done, so that no comparison would tell; a newer reason stays.
      if (!this.#due.has(key)) this.#due.set(key, reason)
      throw error
    }
    if (reason === 'renewed') return
    this.#restored(key, object, reason)
  }

  /** What others have done to an object; undefined if nothing, or if it is too early to answer them. */
  async #reasonOf(object: KeptObject, signal: AbortSignal): Promise<Reason | undefined> {
    const key = keyOf(object)
    // Asked again: the write that an event tells of may be our own.
    const live = await this.#options.api.get(object.type, { namespace: '', name: object.name }, signal)
    if ((live && object.fingerprint(live)) === this.#written.get(key)) return undefined
    const early = (this.#writtenAt.get(key) ?? 0) + this.#intervalMs(key) - this.#options.clock.now()
    if (early > 0) {
      this.#queue.addAfter(key, early)
      return undefined
    }
    return live === undefined || live.metadata.deletionTimestamp !== undefined ? 'deleted' : 'altered'
  }

  /** How long an object is left as it is after it was written. */
  #intervalMs(key: string): number {
    const beyond = (this.#restoredAt.get(key)?.length ?? 0) - RESTORE_LIMIT.restores
    return Math.min(SHORTEST_INTERVAL_MS * 2 ** Math.max(0, beyond), RESTORE_LIMIT.longestMs)
  }

  #restored(key: string, object: KeptObject, reason: Reason): void {
    const now = this.#options.clock.now()
    const lately = (this.#restoredAt.get(key) ?? []).filter((at) => at > now - RESTORE_LIMIT.withinMs)
    this.#restoredAt.set(key, [...lately, now].slice(-2 * RESTORE_LIMIT.restores))
    const { kind } = object.type
    const fields = { kind, name: object.name, change: reason }
    this.#count.inc({ kind })
    this.#options.logger.info(fields, 'restored an object')
    this.#options.report('Restored', `${kind} ${object.name} was ${reason} and has been restored`)
    if (lately.length !== RESTORE_LIMIT.restores) return
    this.#options.logger.warn(fields, 'somebody changes an object again and again; it is restored less often')
    this.#options.report('Contested', `${kind} ${object.name} is changed again and again; find out by whom`)
  }

  #failed(key: string, error: unknown, failures: number): void {
    const message = errorMessage(error)
    const fields = { object: key, error: message, ...(isOsmError(error) && { code: error.code }), failures }
    // An object that is being deleted is gone a moment later.
    if (failures === 1 && isOsmError(error, 'OSM_BOOTSTRAP_TERMINATING'))
      this.#options.logger.debug(fields, 'waiting for an object to go')
    else {
      this.#options.logger.warn(fields, 'an object cannot be brought in order; trying again')
      this.#options.report('BootstrapWaiting', message)
    }
  }

  /** One for each kind. */
  #informers(): readonly Informer<string>[] {
    const { api, clock, random, logger, metrics } = this.#options
    const kinds = new Map<string, ResourceType>()
    const names = new Map<string, string[]>()
    for (const { type, name } of this.#objects.values()) {
      kinds.set(type.kind, type)
      names.set(type.kind, [...(names.get(type.kind) ?? []), name])
    }
    return [...kinds].map(([kind, type]) => {
      const [only, ...others] = names.get(kind) ?? []
      return createInformer<string>({
        api,
        clock,
        random,
        logger,
        metrics,
        type,
        ...(only !== undefined && others.length === 0 && { fieldSelector: `metadata.name=${only}` }),
        project: (object) => this.#objects.get(`${kind}/${object.metadata.name}`)?.fingerprint(object),
      })
    })
  }
}
