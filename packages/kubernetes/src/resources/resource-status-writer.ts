import { type Clock, isPlainObject, type Random, type ResourceReport, sameValue } from '@osm-ts/core'
import type { DriverMetrics, Logger } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { apiVersionOf } from '../resource-types.js'
import { WorkQueue } from '../work-queue.js'
import type { KubernetesResources, ServedResource } from './kubernetes-resources.js'

/** What a {@link ResourceStatusWriter} is made of. */
export interface ResourceStatusOptions {
  readonly api: KubernetesApi
  readonly resources: Pick<KubernetesResources, 'served' | 'onWritten'>
  /** What the mesh says of each object. */
  readonly reports: () => readonly ResourceReport[]
  /** Calls the listener when reports may be others than before. The result ends it. */
  readonly subscribe: (listener: () => void) => () => void
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics?: DriverMetrics
}

/** Changes are collected for this time, in milliseconds. */
const COLLECT_MS = 1_000
/** A success is written again when the one in the status is older, in milliseconds: every write reaches all who watch. */
const SUCCESS_MS = 600_000
const CONCURRENCY = 4
const FIELD_MANAGER = 'osm-controller'

/** Tells users in the status of objects of providers' kinds what became of them. One writer at a time: the leader's. */
export class ResourceStatusWriter {
  readonly #options: ResourceStatusOptions
  readonly #queue: WorkQueue
  readonly #count: (result: 'written' | 'failed') => void
  #reports: ReadonlyMap<string, ResourceReport> = new Map()

  constructor(options: ResourceStatusOptions) {
    const { clock, random, logger, metrics } = options
    const counter = metrics?.counter('osm_status_write_count', 'Statuses of objects by result of the write', ['result'])
    this.#options = options
    this.#count = (result) => counter?.inc({ result })
    this.#queue = new WorkQueue({
      handle: (key, signal) => this.#bring(key, signal),
      concurrency: CONCURRENCY,
      clock,
      random,
      onFault: (key, error, failures) => {
        this.#count('failed')
        if (failures === 1) logger.warn({ object: key, reason: errorMessage(error) }, 'a status cannot be written')
      },
    })
  }

  /** Writes statuses until the signal aborts: that of a leadership. */
  async run(signal: AbortSignal): Promise<void> {
    let cancel: (() => void) | undefined
    const look = (): void => {
      cancel ??= this.#options.clock.setTimer(() => {
        cancel = undefined
        this.#reports = new Map(this.#options.reports().map((report) => [keyOf(report), report]))
        for (const [key, report] of this.#reports) if (this.#isDue(report)) this.#queue.add(key)
      }, COLLECT_MS)
    }
    const ends = [this.#options.subscribe(look), this.#options.resources.onWritten(look)]
    look()
    try {
      await this.#queue.run(signal)
    } finally {
      for (const end of ends) end()
      cancel?.()
    }
  }

  #isDue(report: ResourceReport): boolean {
    const served = this.#served(report)
    return served !== undefined && !says(served.status, this.#statusOf(report, served))
  }

  async #bring(key: string, signal: AbortSignal): Promise<void> {
    const report = this.#reports.get(key)
    const served = report && this.#served(report)
    if (report === undefined || served === undefined) return
    const status = this.#statusOf(report, served)
    if (says(served.status, status)) return
    const { namespace, name } = report
    try {
      await this.#options.api.apply(
        served.type,
        {
          apiVersion: apiVersionOf(served.type),
          kind: served.type.kind,
          // With the uid an object that took the place of this one is left alone.
          metadata: { name, namespace, ...(served.uid === '' ? {} : { uid: served.uid }) },
          status,
        },
        { subresource: 'status', fieldManager: FIELD_MANAGER, force: true, signal },
      )
      this.#count('written')
    } catch (error) {
      if (!isKubernetesError(error) || !error.notFound) throw error
    }
  }

  #served({ kind, namespace, name }: ResourceReport): ServedResource | undefined {
    return this.#options.resources.served(kind, namespace, name)
  }

  #statusOf(
    { generation, conditions, instances, addresses, resolvedAt }: ResourceReport,
    { status }: ServedResource,
  ): Readonly<Record<string, unknown>> {
    const known = conditionsOf(status)
    const now = inSeconds(this.#options.clock.now())
    return {
      observedGeneration: generation,
      instances,
      addresses,
      ...(resolvedAt === undefined ? {} : { lastResolvedTime: inSeconds(resolvedAt) }),
      conditions: conditions.map((condition) => {
        const before = known.find(({ type }) => type === condition.type)
        const since = before?.status === condition.status ? before.lastTransitionTime : undefined
        return { ...condition, observedGeneration: generation, lastTransitionTime: since ?? now }
      }),
    }
  }
}

interface WrittenCondition {
  readonly type?: unknown
  readonly status?: unknown
  readonly lastTransitionTime?: unknown
}

/** True if the status says all of that, and its last success is not too old. Members that others wrote may be beside ours. */
function says(status: unknown, wanted: Readonly<Record<string, unknown>>): boolean {
  if (!isPlainObject(status)) return false
  const { lastResolvedTime: time, conditions, ...rest } = wanted
  const same = Object.entries(rest).every(([name, value]) => sameValue(status[name], value))
  const known = conditionsOf(status)
  const hasAll = (conditions as readonly WrittenCondition[]).every((condition) =>
    known.some((it) => sameValue(it, condition)),
  )
  return same && hasAll && !isMuchOlder(status.lastResolvedTime, time)
}

function isMuchOlder(known: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'string') return false
  return typeof known !== 'string' || Date.parse(wanted) - Date.parse(known) > SUCCESS_MS
}

function conditionsOf(status: unknown): readonly WrittenCondition[] {
  if (!isPlainObject(status) || !Array.isArray(status.conditions)) return []
  return status.conditions.filter(isPlainObject)
}

function keyOf({ kind, namespace, name }: ResourceReport): string {
  return `${kind}/${namespace}/${name}`
}

function inSeconds(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
}
