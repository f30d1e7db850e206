import { setImmediate as nextTurn } from 'node:timers/promises'

import { type Clock, pause, type Random } from '@osm-ts/core'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesObject, ResourceType, Selection, WatchEvent } from './api.js'
import { isKubernetesError, KubernetesError } from './kubernetes-error.js'
import { WatchGuard } from './watch-guard.js'
import { TOO_LARGE } from './client/answer-body.js'

const USUAL_PAGE_SIZE = 500

const MAX_PAGE_SIZE = 16_000

/** How many objects are requested at once. */
class PageSize {
  #current = USUAL_PAGE_SIZE

  get current(): number {
    return this.#current
  }

  /**
   * Learns from a list that failed. A page that was too large to be accepted calls for smaller ones; a list that grew too
   * old while it was read calls for fewer.
   */
  adapt(error: unknown): void {
    if (!isKubernetesError(error)) return
    if (error.reason === TOO_LARGE) this.#current = Math.max(1, Math.floor(this.#current / 2))
    else if (error.expired) this.#current = Math.min(MAX_PAGE_SIZE, this.#current * 4)
  }
}

/** A list that is under way. */
export interface Relist {
  add(objects: readonly KubernetesObject[]): void
  /** The list is complete. Not called for a list that fails. */
  commit(): void
}

/** How something asked of the API server ended. */
export type Outcome = 'ok' | 'expired' | 'failed'

/** Who is told what a reflector learns. */
export interface ReflectorTarget {
  relist(): Relist
  change(event: Exclude<WatchEvent, { readonly type: 'BOOKMARK' }>): void
  /** The API server has answered: everything up to now is known. */
  contact(): void
  /** It has not, or not well. */
  fault(error: Error): void
  ended(what: 'list' | 'watch', outcome: Outcome): void
}

/** What a {@link Reflector} is made of. */
export interface ReflectorOptions {
  readonly api: KubernetesApi
  readonly type: ResourceType
  readonly selection: Selection
  readonly clock: Clock
  readonly random: Random
  readonly target: ReflectorTarget
}

const BACKOFF = { firstMs: 800, lastMs: 30_000 }
/** Watches end by themselves now and then, so that they spread over the API servers again; not all at once. */
const WATCH_SECONDS = { from: 300, to: 600 }
/** A watch that ends sooner than this without a change was not accepted in earnest. */
const SHORTEST_WATCH_MS = 1_000
/** Objects that arrive together are taken in for this long, in milliseconds, before others have their turn. */
const TURN_MS = 10
/** No API server may make us wait longer. */
const MAX_RETRY_AFTER_MS = 120_000

/**
 * Follows the objects of a kind: lists them page by page, then watches from where the list ended, forever.
 *
 * Whatever breaks, it tries again after a while. Only a resource version that the API server no longer knows needs a new
 * list; after anything else the watch goes on where it stopped, so that nothing is missed and nothing is read twice.
 */
export class Reflector {
  readonly #options: ReflectorOptions
  readonly #pageSize = new PageSize()
  #version: string | undefined
  #failures = 0
  #turnStart = 0

  constructor(options: ReflectorOptions) {
    this.#options = options
  }

  /** Resolves when the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, target } = this.#options
    const isOver = (): boolean => signal.aborted
    while (!isOver()) {
      try {
        this.#version ??= await this.#list(signal)
        await this.#watch(this.#version, signal)
      } catch (error) {
        if (isOver()) return
        if (isKubernetesError(error) && error.expired) this.#version = undefined
        target.fault(error instanceof Error ? error : new Error(errorMessage(error)))
        await pause(clock, this.#delayMs(error), signal)
      }
    }
  }

  #delayMs(error: unknown): number {
    this.#failures += 1
    const asked = isKubernetesError(error) ? (error.retryAfterMs ?? 0) : 0
    return Math.max(Math.min(asked, MAX_RETRY_AFTER_MS), backoffMs(this.#failures, BACKOFF, this.#options.random))
  }

  /** The resource version of the list. */
  async #list(signal: AbortSignal): Promise<string> {
    const { api, type, selection, target } = this.#options
    try {
      const relist = target.relist()
      let next: string | undefined
      for (;;) {
        const page = await api.list(
          type,
          { ...selection, limit: this.#pageSize.current, ...(next === undefined ? {} : { continue: next }) },
          signal,
        )
        await this.#inTurns(page.items, (object) => relist.add([object]))
        next = page.continue
        if (next !== undefined) continue
        relist.commit()
        target.contact()
        target.ended('list', 'ok')
        return page.resourceVersion
      }
    } catch (error) {
      this.#pageSize.adapt(error)
      if (!signal.aborted) target.ended('list', outcomeOf(error))
      throw error
    }
  }

  /** A page may be of objects that each take long to read. */
  async #inTurns<T>(items: readonly T[], take: (item: T) => void): Promise<void> {
    for (const item of items) {
      take(item)
      await this.#turn()
    }
  }

  /** Lets others have their turn once this one was long enough. */
  async #turn(): Promise<void> {
    if (performance.now() - this.#turnStart < TURN_MS) return
    await nextTurn()
    this.#turnStart = performance.now()
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { api, type, selection, clock, random, target } = this.#options
    const timeoutSeconds = Math.round(WATCH_SECONDS.from + (WATCH_SECONDS.to - WATCH_SECONDS.from) * random())
    const guard = new WatchGuard(clock, signal, timeoutSeconds)
    const started = clock.now()
    let quiet = true
    const onOpen = (): void => {
      guard.heard(false)
      target.contact()
    }
    try {
      const query = { ...selection, resourceVersion: from, timeoutSeconds, onOpen }
      for await (const event of api.watch(type, query, guard.signal)) {
        quiet = false
        this.#failures = 0
        guard.heard(event.type === 'BOOKMARK')
        target.contact()
        if (event.type !== 'BOOKMARK') target.change(event)
        this.#version = event.type === 'BOOKMARK' ? event.resourceVersion : versionOf(event.object, this.#version)
        // Events that arrive together follow each other without a pause.
        if (event.type !== 'BOOKMARK') await this.#turn()
      }
      if (quiet && clock.now() - started < SHORTEST_WATCH_MS) throw endedAtOnce()
      this.#failures = 0
      target.ended('watch', 'ok')
    } catch (error) {
      // A connection that breaks has been alive until now; one that was silent has not.
      if (guard.isOpen && !guard.signal.aborted) target.contact()
      if (!signal.aborted) target.ended('watch', outcomeOf(error))
      throw error
    } finally {
      guard.release()
    }
  }
}

function versionOf(object: KubernetesObject, before: string | undefined): string | undefined {
  return object.metadata.resourceVersion ?? before
}

function endedAtOnce(): KubernetesError {
  return new KubernetesError('OSM_KUBERNETES_UNREACHABLE', 'the API server ended a watch as soon as it had begun')
}

function outcomeOf(error: unknown): Outcome {
  return isKubernetesError(error) && error.expired ? 'expired' : 'failed'
}
