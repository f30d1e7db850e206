import type { Eviction, Logger, Proxies } from '@osm-ts/driver-api'

import type { AnyRequest } from './state/protocols.js'
import type { ProxySession } from './proxy-session.js'

/** A live stream, as others may use it. */
export interface LiveStream {
  readonly session: Pick<
    ProxySession<AnyRequest>,
    'proxy' | 'variant' | 'connectedAt' | 'settled' | 'history' | 'resources'
  >
  evict(reason: Eviction['reason']): void
}

/** The streams that are open, by the session that the host knows them under. */
export class StreamRegistry {
  readonly #streams = new Map<string, LiveStream>()

  add(stream: LiveStream): void {
    this.#streams.set(stream.session.proxy.session, stream)
  }

  delete(stream: LiveStream): void {
    const { session } = stream.session.proxy
    if (this.#streams.get(session) === stream) this.#streams.delete(session)
  }

  get size(): number {
    return this.#streams.size
  }

  /** In the order in which they were opened. */
  [Symbol.iterator](): Iterator<LiveStream> {
    return this.#streams.values()
  }

  /**
   * Has every proxy return with a new handshake, one after the other within that time. A handshake proves who a proxy is by the roots of its moment;
   * when one of them is withdrawn, what was proven by it has to be proven again.
   */
  reauthenticate(spreadMs: number): void {
    const streams = [...this.#streams.values()]
    streams.forEach((stream, index) => {
      setTimeout(() => stream.evict('rebalance'), (index / streams.length) * spreadMs).unref()
    })
  }

  /** Cuts off whom the host says, until the signal aborts. */
  async followEvictions(proxies: Pick<Proxies, 'evictions'>, logger: Logger, signal: AbortSignal): Promise<void> {
    for await (const { uuid, session, reason } of proxies.evictions(signal)) {
      const stream = this.#streams.get(session)
      if (stream === undefined) continue
      logger.info({ proxy: uuid, reason }, 'proxy is cut off')
      stream.evict(reason)
    }
  }
}
