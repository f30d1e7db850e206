import type { Registry } from '@bufbuild/protobuf'
import type { DebugHandlers, DebugRequest, DebugResponse } from '@osm-ts/driver-api'
import { listPage, type Steps } from '@osm-ts/driver-api/toolkit'

import { messageRegistry } from '../resources/message-registry.js'
import { resourceJson } from '../resources/resource-json.js'
import type { TranslatedType } from '../resources/types.js'
import type { LiveStream, StreamRegistry } from './stream-registry.js'

const translatedTypes: readonly TranslatedType[] = ['cluster', 'endpoints', 'listener', 'extension', 'route']

/**
 * Debug pages of the driver: `/debug/proxy` lists the proxies of this replica (`?uuid=` shows one, `&cfg` its resources, `&identity=` tells
 * apart proxies of one uuid, `?namespace=` shows those of a namespace), `/debug/xds` the last responses of each. Resources come from policy, which holds
 * no secret; secrets are on no page. Pages are bounded and made in turns: there may be ten thousand streams, and a stream may have megabytes of resources.
 */
export class DebugPages {
  readonly #streams: StreamRegistry
  readonly #signal: AbortSignal
  #registry: Registry | undefined

  /** @param signal - ends the making of pages */
  constructor(streams: StreamRegistry, signal: AbortSignal) {
    this.#streams = streams
    this.#signal = signal
  }

  register(handlers: DebugHandlers): void {
    handlers.register('/debug/proxy', async ({ query }) => {
      const { uuid, cfg } = query
      if (cfg === undefined) return this.#list(query, justDescribe)
      return uuid === undefined
        ? refusal(400, 'cfg needs the uuid of a proxy')
        : this.#list(query, (stream) => this.#dump(stream))
    })
    handlers.register('/debug/xds', async ({ query }) => this.#list(query, responses))
  }

  async #list(query: DebugRequest['query'], show: (stream: LiveStream) => Steps<unknown>): Promise<DebugResponse> {
    const { uuid, identity, namespace } = query
    const items = [...this.#streams].filter(
      ({ session: { proxy } }) =>
        (uuid === undefined || proxy.uuid === uuid) &&
        (identity === undefined || proxy.identity === identity) &&
        (namespace === undefined || proxy.namespace === namespace),
    )
    if (uuid !== undefined && items.length === 0) return refusal(404, `no proxy ${uuid} is connected here`)
    const filters = ['namespace', 'uuid', 'identity']
    return listPage({ items, noun: 'proxies', describe: show, query, filters, signal: this.#signal })
  }

  *#dump(stream: LiveStream): Steps<unknown> {
    const registry = (this.#registry ??= messageRegistry())
    const dump: (readonly [TranslatedType, readonly unknown[]])[] = []
    for (const type of translatedTypes) {
      const shown: unknown[] = []
      dump.push([type, shown])
      for (const resource of stream.session.resources?.types[type] ?? []) {
        shown.push({
          version: resource.version,
          sources: resource.sources.map(({ kind, id }) => `${kind} ${id}`),
          resource: resourceJson(type, resource, registry),
        })
        yield
      }
    }
    return { ...describe(stream), resources: Object.fromEntries(dump) }
  }
}

function* justDescribe(stream: LiveStream): Steps<unknown> {
  yield
  return describe(stream)
}

function* responses({ session }: LiveStream): Steps<unknown> {
  yield
  const { uuid, identity } = session.proxy
  return { uuid, identity, types: Object.fromEntries(session.history.entries()) }
}

function describe({ session }: LiveStream): Readonly<Record<string, unknown>> {
  const { proxy, variant, connectedAt, settled, resources } = session
  return {
    uuid: proxy.uuid,
    identity: proxy.identity,
    namespace: proxy.namespace,
    commonName: proxy.commonName,
    connectedAt,
    variant,
    revision: resources?.revision ?? null,
    settled,
    counts: Object.fromEntries(translatedTypes.map((type) => [type, resources?.types[type].size ?? 0])),
  }
}

function refusal(status: number, error: string): DebugResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify({ error })}\n` }
}
