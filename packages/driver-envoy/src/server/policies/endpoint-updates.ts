import { setImmediate as nextTurn } from 'node:timers/promises'

import type { PolicySource } from '@osm-ts/driver-api'
import type { PartStore } from '@osm-ts/driver-api/toolkit'

import type { LiveEndpoints } from '../../resources/types.js'
import type { ResourceTranslator } from './translator-port.js'

/** A stream, as far as endpoints are concerned. */
export interface EndpointsSubscriber {
  /** Endpoints of its proxy have become others, or were looked at again. */
  renew(endpoints: LiveEndpoints, generation: number): void
  /** All have been told of that generation, in which the stream got another policy. */
  reached(): void
}

/** What {@link EndpointUpdates} needs. */
export interface EndpointUpdatesPorts {
  readonly endpoints: PolicySource['endpoints']
  readonly parts: PartStore
  readonly translator: Pick<ResourceTranslator, 'renew'>
  /** Milliseconds of work in one turn of the event loop. */
  readonly turnMs: number
}

/**
 * Tells streams of endpoints that come and go. What they are is encoded once for all proxies, and of a proxy nothing else is checked.
 */
export class EndpointUpdates {
  readonly #ports: EndpointUpdatesPorts
  readonly #subscribers = new Map<LiveEndpoints, Set<EndpointsSubscriber>>()
  /** Those that have subscribed while an update was on its way to others; undefined while none is. */
  #moved: Set<EndpointsSubscriber> | undefined
  #generation = 0

  constructor(ports: EndpointUpdatesPorts) {
    this.#ports = ports
  }

  /** Of the endpoints that all streams have been told of. */
  get generation(): number {
    return this.#generation
  }

  subscribe(endpoints: LiveEndpoints, subscriber: EndpointsSubscriber): void {
    const subscribers = this.#subscribers.get(endpoints)
    if (subscribers === undefined) this.#subscribers.set(endpoints, new Set([subscriber]))
    else subscribers.add(subscriber)
    this.#moved?.add(subscriber)
  }

  unsubscribe(endpoints: LiveEndpoints, subscriber: EndpointsSubscriber): void {
    const subscribers = this.#subscribers.get(endpoints)
    subscribers?.delete(subscriber)
    this.#moved?.delete(subscriber)
    if (subscribers?.size === 0) this.#subscribers.delete(endpoints)
  }

  /** Follows endpoints until the signal aborts, if the host gives them apart from policies. */
  async follow(signal: AbortSignal): Promise<void> {
    const { endpoints, parts, translator, turnMs } = this.#ports
    if (endpoints === undefined) return
    for await (const update of endpoints.watch(signal)) {
      const moved = new Set<EndpointsSubscriber>()
      this.#moved = moved
      for (const { hash, part } of update.parts) parts.renew(hash, part)
      let turnEnd = performance.now() + turnMs
      for (const renewed of translator.renew(update.parts.map(({ hash, part }) => [hash, part]))) {
        for (const subscriber of [...(this.#subscribers.get(renewed) ?? [])]) {
          subscriber.renew(renewed, update.generation)
          if (performance.now() < turnEnd) continue
          await nextTurn()
          turnEnd = performance.now() + turnMs
        }
      }
      this.#generation = update.generation
      this.#moved = undefined
      for (const subscriber of moved) subscriber.reached()
    }
  }
}
