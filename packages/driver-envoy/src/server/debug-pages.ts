import type { Registry } from '@bufbuild/protobuf'
import type { DebugHandlers, DebugRequest, DebugResponse } from '@osm-ts/driver-api'

import { messageRegistry } from '../resources/message-registry.js'
import { resourceJson } from '../resources/resource-json.js'
import type { TranslatedType } from '../resources/types.js'
import type { LiveStream, StreamRegistry } from './stream-registry.js'

const translatedTypes: readonly TranslatedType[] = ['cluster', 'endpoints', 'listener', 'extension', 'route']

/**
 * Debug pages of the driver: `/debug/proxy` lists the proxies of this replica (`?uuid=` shows one, `&cfg` its resources, `&identity=` tells
 * apart proxies of one uuid), `/debug/xds` the last responses of each. Resources come from policy, which holds no secret; secrets are on no page.
 */
export class DebugPages {
  readonly #streams: StreamRegistry
  #registry: Registry | undefined

  constructor(streams: StreamRegistry) {
    this.#streams = streams
  }

  register(handlers: DebugHandlers): void {
    handlers.register('/debug/proxy', async (request) => this.#proxy(request))
    handlers.register('/debug/xds', async (request) => this.#responses(request))
  }

  #proxy({ query }: DebugRequest): DebugResponse {
    const { uuid, identity, cfg } = query
    const streams = this.#find(uuid, identity)
    if (streams === undefined) return unknownProxy(uuid)
    if (cfg !== undefined && uuid === undefined) return json(400, { error: 'cfg needs the uuid of a proxy' })
    return json(
      200,
      streams.map((stream) => ({ ...describe(stream), ...(cfg !== undefined && this.#dump(stream)) })),
    )
  }

  #responses({ query: { uuid, identity } }: DebugRequest): DebugResponse {
    const streams = this.#find(uuid, identity)
    if (streams === undefined) return unknownProxy(uuid)
    return json(
      200,
      streams.map(({ session }) => ({
        uuid: session.proxy.uuid,
        identity: session.proxy.identity,
        types: Object.fromEntries(session.history.entries()),
      })),
    )
  }

  /** Undefined if a proxy is requested that is not here. */
  #find(uuid: string | undefined, identity: string | undefined): readonly LiveStream[] | undefined {
    const streams = [...this.#streams].filter(
      ({ session: { proxy } }) =>
        (uuid === undefined || proxy.uuid === uuid) && (identity === undefined || proxy.identity === identity),
    )
    return uuid !== undefined && streams.length === 0 ? undefined : streams
  }

  #dump({ session: { resources } }: LiveStream): Readonly<Record<string, unknown>> {
    const registry = (this.#registry ??= messageRegistry())
    const dump = translatedTypes.map((type) => [
      type,
      [...(resources?.types[type] ?? [])].map((resource) => ({
        version: resource.version,
        sources: resource.sources.map(({ kind, id }) => `${kind} ${id}`),
        resource: resourceJson(type, resource, registry),
      })),
    ])
    return { resources: Object.fromEntries(dump) as unknown }
  }
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

function unknownProxy(uuid: string | undefined): DebugResponse {
  return json(404, { error: `no proxy ${uuid ?? ''} is connected here` })
}

function json(status: number, value: unknown): DebugResponse {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, undefined, 2)}\n` }
}
