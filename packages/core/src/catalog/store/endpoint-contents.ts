import type { EndpointsPart, PartHash } from '@osm-ts/driver-api/policy'

import { parseNameKey } from '../../namespaced-name.js'
import type { Engine } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { GATEWAY_PREFIX, gatewayEndpointsPart } from '../policy/egress/gateway-service.js'
import { networkKey } from '../policy/parts/keys.js'
import type { PolicyPart } from '../policy/parts/policy-part.js'
import type { EndpointsRef } from '../policy/upstreams/networks.js'
import { endpointsPart } from '../policy/upstreams/upstreams.js'

/** Endpoints that became others, of a frame that policies in force hold. */
export interface EndpointsChange {
  /** Hash of the frame: the `endpoints` part as policies hold it, without endpoints. */
  readonly frame: PartHash
  /** The whole part. */
  readonly after: PolicyPart<EndpointsPart>
}

/**
 * The endpoints of all that policies in force may call.
 *
 * Policies hold frames: `endpoints` parts without endpoints. What is in them is kept here, once for the mesh, so that an endpoint that comes or goes costs what
 * is told of it and nothing for each policy.
 */
export class EndpointContents {
  readonly #followed = new Map<PartHash, { readonly key: string; content: PolicyPart<EndpointsPart> | undefined }>()
  /** Frames by {@link frameKey}: two where other members of the part have just changed. */
  readonly #frames = new Map<string, Set<PartHash>>()
  readonly #byHash = new Map<PartHash, PolicyPart<EndpointsPart>>()
  readonly #fresh = new Set<PartHash>()
  #generation = 0

  /** Rises with every change. */
  get generation(): number {
    return this.#generation
  }

  /** The whole part of a frame; undefined for a frame that no policy in force holds. */
  of(frame: PartHash): PolicyPart<EndpointsPart> | undefined {
    return this.#followed.get(frame)?.content
  }

  /** The whole part of that hash. */
  find(hash: PartHash): PolicyPart<EndpointsPart> | undefined {
    return this.#byHash.get(hash)
  }

  /** A policy in force holds the frame from now on. */
  follow(engine: Engine<CatalogState>, { hash, part }: PolicyPart<EndpointsPart>): void {
    const key = frameKey(part)
    this.#followed.set(hash, { key, content: undefined })
    this.#fresh.add(hash)
    const frames = this.#frames.get(key)
    if (frames !== undefined) {
      frames.add(hash)
      return
    }
    this.#frames.set(key, new Set([hash]))
    engine.pin(queryOf(key), refOf(key))
  }

  /** None does any more. */
  forget(engine: Engine<CatalogState>, { hash, part }: PolicyPart<EndpointsPart>): void {
    const key = frameKey(part)
    const content = this.#followed.get(hash)?.content
    this.#followed.delete(hash)
    this.#fresh.delete(hash)
    const frames = this.#frames.get(key)
    frames?.delete(hash)
    if (content !== undefined && frames?.size === 0) this.#byHash.delete(content.hash)
    if (frames?.size !== 0) return
    this.#frames.delete(key)
    engine.unpin(queryOf(key), refOf(key))
  }

  /**
   * Reads again what may be another by changes that the engine has taken in, and what is followed since the last call.
   *
   * @returns what was known before and is another now
   */
  update(engine: Engine<CatalogState>, faults: unknown[]): readonly EndpointsChange[] {
    const changes: EndpointsChange[] = []
    const due = new Set<PartHash>(this.#fresh)
    this.#fresh.clear()
    for (const [prefix, query] of [
      ['', endpointsPart],
      [GATEWAY_PREFIX, gatewayEndpointsPart],
    ] as const)
      for (const key of engine.outdated(query))
        for (const frame of this.#frames.get(`${prefix}${query.keyOf(key)}`) ?? []) due.add(frame)
    for (const frame of due) {
      try {
        const change = this.#read(engine, frame)
        if (change !== undefined) changes.push(change)
      } catch (error) {
        faults.push(error)
      }
    }
    if (changes.length > 0) this.#generation += 1
    return changes
  }

  #read(engine: Engine<CatalogState>, frame: PartHash): EndpointsChange | undefined {
    const followed = this.#followed.get(frame)
    if (followed === undefined) return undefined
    const after = engine.get(queryOf(followed.key), refOf(followed.key))
    // What led there is gone, and so will be the policies that hold the frame.
    if (after === undefined || after.hash === followed.content?.hash) return undefined
    const before = followed.content
    followed.content = after
    if (before !== undefined) this.#byHash.delete(before.hash)
    this.#byHash.set(after.hash, after)
    return before === undefined ? undefined : { frame, after }
  }
}

/** The id of the part, and the network of the proxies that it is for. */
function frameKey({ id, network }: EndpointsPart): string {
  return `${id}${networkKey(network)}`
}

function queryOf(key: string): typeof endpointsPart {
  return key.startsWith(GATEWAY_PREFIX) ? gatewayEndpointsPart : endpointsPart
}

/** Neither namespaces nor services have a `|` or an `@` in their names. */
function refOf(key: string): EndpointsRef {
  const own = key.startsWith(GATEWAY_PREFIX) ? key.slice(GATEWAY_PREFIX.length) : key
  const bar = own.lastIndexOf('|')
  const [port, network] = own.slice(bar + 1).split('@')
  return { ...parseNameKey(own.slice(0, bar)), targetPort: Number(port), ...(network !== undefined && { network }) }
}
