import { randomUUID } from 'node:crypto'

import type { Logger } from '@osm-ts/driver-api'
import type { Clock } from '@osm-ts/core'
import { errorMessage, printable } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi, KubernetesManifest } from './api.js'
import { isKubernetesError } from './kubernetes-error.js'
import { resourceTypes } from './resource-types.js'
import { WorkQueue } from './work-queue.js'

/** What an event is about. */
export interface EventObject {
  readonly apiVersion: string
  readonly kind: string
  /** Absent or empty for cluster-scoped objects. */
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

/** Something that happened to an object. */
export interface RecordedEvent {
  readonly object: EventObject
  readonly type: 'Normal' | 'Warning'
  /** One word, such as `FatalInitializationError`. */
  readonly reason: string
  /** For people. Never secrets. */
  readonly message: string
}

/** What an {@link EventRecorder} is made of. */
export interface EventRecorderOptions {
  readonly api: KubernetesApi
  /** Program that reports, such as `osm-controller`. */
  readonly component: string
  /** Of the program itself. */
  readonly namespace: string
  readonly clock: Clock
  readonly logger?: Logger
}

/** Events of the same text about the same object are one Event with a count. */
interface Series {
  readonly name: string
  event: RecordedEvent
  readonly firstAt: number
  lastAt: number
  count: number
  stored: boolean
  writtenAt: number
  /** Count that the API server knows. */
  writtenCount: number
}

/** Series that are remembered; the one that was quiet for longest is forgotten first. */
const MAX_SERIES = 1_000
/** Between two writes of one series. */
const WRITE_INTERVAL_MS = 30_000
/** Texts of one reason about one object; further ones are one series, which says the newest of them. */
const MAX_TEXTS = 10
const MAX_ATTEMPTS = 5
const MAX_MESSAGE = 1_024
const MAX_NAME = 200
const CLOSE_LIMIT_MS = 5_000

/**
 * Tells users by Kubernetes events what happened to their objects.
 *
 * Events are a courtesy: recording never waits and never throws, writes are few in any case, and an event that cannot
 * be written after some attempts is dropped.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #series = new Map<string, Series>()
  /** Number of texts by object and reason. */
  readonly #texts = new Map<string, number>()
  readonly #queue: WorkQueue
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#queue = new WorkQueue({
      handle: (key, signal) => this.#write(key, signal),
      concurrency: 2,
      clock: options.clock,
      random: Math.random,
      onFault: (key, error, failures) => this.#failed(key, error, failures),
      capacity: MAX_SERIES,
      backoff: { firstMs: 1_000, lastMs: 30_000 },
    })
  }

  /** Has the event written soon. */
  record(event: RecordedEvent): void {
    if (this.#stop.signal.aborted) return
    const now = this.#options.clock.now()
    const key = this.#keyOf(event)
    const series = this.#series.get(key) ?? this.#begin(key, event, now)
    series.event = event
    series.count += 1
    series.lastAt = now
    // The order of the map is that of use.
    this.#series.delete(key)
    this.#series.set(key, series)
    this.#running ??= this.#queue.run(this.#stop.signal)
    this.#queue.addAfter(key, series.writtenAt + WRITE_INTERVAL_MS - now)
  }

  /** Writes what is not written yet, for a limited time, and ends. */
  close(limitMs = CLOSE_LIMIT_MS): Promise<void> {
    this.#closing ??= this.#finish(limitMs)
    return this.#closing
  }

  async #finish(limitMs: number): Promise<void> {
    const limit = new AbortController()
    const cancel = this.#options.clock.setTimer(() => limit.abort(new Error('the time for it is over')), limitMs)
    this.#stop.abort()
    await this.#running
    for (const key of [...this.#series.keys()]) {
      if (limit.signal.aborted) break
      await this.#write(key, limit.signal).catch((error: unknown) => this.#failed(key, error, MAX_ATTEMPTS))
    }
    cancel()
  }

  #keyOf({ object, type, reason, message }: RecordedEvent): string {
    const about = JSON.stringify([object.kind, object.namespace, object.name, object.uid, type, reason])
    const key = `${about}${message}`
    if (this.#series.has(key)) return key
    const texts = this.#texts.get(about) ?? 0
    if (texts >= MAX_TEXTS) return about
    this.#texts.set(about, texts + 1)
    return key
  }

  #begin(key: string, event: RecordedEvent, now: number): Series {
    for (const oldest of this.#series.keys()) {
      if (this.#series.size < MAX_SERIES) break
      this.#series.delete(oldest)
    }
    if (this.#texts.size > MAX_SERIES) this.#texts.clear()
    const name = `${event.object.name.slice(0, MAX_NAME)}.${randomUUID().slice(0, 18).replaceAll('-', '')}`
    const series: Series = {
      name,
      event,
      firstAt: now,
      lastAt: now,
      count: 0,
      stored: false,
      writtenAt: -Infinity,
      writtenCount: 0,
    }
    this.#series.set(key, series)
    return series
  }

  async #write(key: string, signal: AbortSignal): Promise<void> {
    const series = this.#series.get(key)
    if (series === undefined || series.writtenCount === series.count) return
    const { count } = series
    series.writtenAt = this.#options.clock.now()
    if (series.stored) await this.#update(series, signal)
    else await this.#create(series, signal)
    series.stored = true
    series.writtenCount = count
  }

  async #create(series: Series, signal: AbortSignal): Promise<void> {
    await this.#options.api.create(resourceTypes.Event, this.#manifest(series), { signal })
  }

  async #update(series: Series, signal: AbortSignal): Promise<void> {
    const name = { namespace: eventNamespace(series.event.object), name: series.name }
    const { message } = this.#manifest(series)
    const patch = { count: series.count, lastTimestamp: time(series.lastAt), message }
    try {
      await this.#options.api.mergePatch(resourceTypes.Event, name, patch, { signal })
    } catch (error) {
      if (!isKubernetesError(error) || !error.notFound) throw error
      await this.#create(series, signal) // events live for an hour
    }
  }

  #manifest(series: Series): KubernetesManifest {
    const { component } = this.#options
    const { object, type, reason, message } = series.event
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: eventNamespace(object), name: series.name },
      involvedObject: object,
      type,
      reason,
      message: printable(message.slice(0, MAX_MESSAGE)),
      source: { component },
      reportingComponent: component,
      reportingInstance: component,
      firstTimestamp: time(series.firstAt),
      lastTimestamp: time(series.lastAt),
      count: series.count,
    }
  }

  #failed(key: string, error: unknown, failures: number): void {
    if (failures >= MAX_ATTEMPTS) this.#series.delete(key)
    this.#options.logger?.debug({ error: errorMessage(error) }, 'an event cannot be written')
  }
}

/** Events live beside their object; those about cluster-scoped objects must be in `default`. */
function eventNamespace({ namespace }: EventObject): string {
  return namespace === undefined || namespace === '' ? 'default' : namespace
}

function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z')
}
