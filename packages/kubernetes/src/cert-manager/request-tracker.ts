import { type Clock, pause, type Random } from '@osm-ts/core'
import type { Logger } from '@osm-ts/driver-api'
import { errorMessage, onAbort } from '@osm-ts/driver-api/toolkit'

import type { KubernetesApi } from '../api.js'
import type { Informer, InformerState } from '../informer-types.js'
import { createInformer } from '../informer.js'
import { resourceTypes } from '../resource-types.js'
import { requestState, type RequestState } from './certificate-request.js'

/** What {@link RequestTracker} needs. */
export interface RequestTrackerOptions {
  readonly api: KubernetesApi
  readonly namespace: string
  /** Of the requests of this mesh, and of nothing else. */
  readonly labels: Readonly<Record<string, string>>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** A request as it is followed. */
interface FollowedRequest {
  readonly name: string
  readonly uid: string
  readonly state: RequestState
}

/** Interval between two looks for requests that no one uses. */
const SWEEP_MS = 60_000
/** Its owner takes an answer at once; one that lies for this long has none any more. */
const ANSWERED_MS = 120_000
/** Time for those who approve by hand, also if the owner of the request was replaced. */
const WAITING_MS = 6 * 3_600_000
const DELETE_TIMEOUT_MS = 5_000

/** Follows the CertificateRequests of the mesh, and removes those that no one uses. */
export class RequestTracker {
  readonly #options: RequestTrackerOptions
  readonly #informer: Informer<FollowedRequest>
  /** Names of requests that this process has made and still uses. */
  readonly #own = new Set<string>()
  /** When a request of others was seen first, by uid: clocks of machines are not compared. */
  #seen: ReadonlyMap<string, number> = new Map()

  constructor(options: RequestTrackerOptions) {
    this.#options = options
    const { namespace, labels } = options
    this.#informer = createInformer({
      ...options,
      type: resourceTypes.CertificateRequest,
      namespace,
      labelSelector: Object.entries(labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(','),
      project: (object) => ({
        name: object.metadata.name,
        uid: object.metadata.uid ?? '',
        state: requestState(object),
      }),
    })
  }

  /** How far the following has come. */
  followed(): InformerState {
    return this.#informer.state()
  }

  /** Requests that this process uses. */
  get outstanding(): number {
    return this.#own.size
  }

  has(name: string): boolean {
    return this.#own.has(name)
  }

  claim(name: string): void {
    this.#own.add(name)
  }

  /**
   * Waits until the request is answered, or the time is up.
   *
   * @returns its state then; undefined if it is not there, or not known yet
   * @throws the reason of the signal
   */
  async settled(name: string, waitMs: number, signal: AbortSignal): Promise<RequestState | undefined> {
    const { namespace, clock } = this.#options
    const state = (): RequestState | undefined => this.#informer.get({ namespace, name })?.state
    const isAnswered = (): boolean => ['issued', 'refused'].includes(state()?.step ?? '')
    signal.throwIfAborted()
    await new Promise<void>((resolve) => {
      const ends: (() => void)[] = []
      const end = (): void => {
        for (const each of ends) each()
        resolve()
      }
      ends.push(
        clock.setTimer(end, waitMs),
        onAbort(signal, end),
        this.#informer.subscribe((changes) => {
          const change = changes.find((each) => each.name.name === name)
          if (change !== undefined && (change.after === undefined || isAnswered())) end()
        }),
      )
      if (isAnswered()) end()
    })
    signal.throwIfAborted()
    return state()
  }

  /** Removes a request that was used. One that cannot be removed now is removed later. */
  async remove(name: string, uid?: string): Promise<void> {
    const { api, namespace, logger } = this.#options
    this.#own.delete(name)
    try {
      const signal = AbortSignal.timeout(DELETE_TIMEOUT_MS)
      const options = { signal, ...(uid === undefined ? {} : { uid }) }
      await api.delete(resourceTypes.CertificateRequest, { namespace, name }, options)
    } catch (error) {
      logger.debug({ namespace, name, error: errorMessage(error) }, 'a CertificateRequest cannot be removed yet')
    }
  }

  /** Follows requests, and removes those that others have left behind, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    await this.#informer.start(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    while (!signal.aborted) {
      await this.#sweep()
      await pause(clock, SWEEP_MS * (0.9 + 0.2 * random()), signal)
    }
  }

  async #sweep(): Promise<void> {
    const now = this.#options.clock.now()
    const unused = this.#informer.list().filter(({ name }) => !this.#own.has(name))
    this.#seen = new Map(unused.map(({ uid }) => [uid, this.#seen.get(uid) ?? now]))
    for (const { name, uid, state } of unused) {
      const limitMs = state.step === 'issued' || state.step === 'refused' ? ANSWERED_MS : WAITING_MS
      if (now - (this.#seen.get(uid) ?? now) >= limitMs) await this.remove(name, uid)
    }
  }
}
