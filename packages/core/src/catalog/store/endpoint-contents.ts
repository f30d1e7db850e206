import type { EndpointsPart, PartHash } from '@osm-ts/driver-api/policy'

import { parseNameKey } from '../../namespaced-name.js'
import type { Engine } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { GATEWAY_PREFIX, gatewayEndpointsPart } from '../policy/egress/gateway-service.js'
import type { TargetPortRef } from '../policy/parts/keys.js'
import type { PolicyPart } from '../policy/parts/policy-part.js'
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
  readonly #followed = new Map<PartHash, { readonly id: string; content: PolicyPart<EndpointsPart> | undefined }>()
  /** Frames by the id of their part: two where its other members have just changed. */
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
    const { id } = part
    this.#followed.set(hash, { id, content: undefined })
    this.#fresh.add(hash)
    const frames = this.#frames.get(id)
    if (frames !== undefined) {
      frames.add(hash)
      return
    }
    this.#frames.set(id, new Set([hash]))
    engine.pin(queryOf(id), keyOf(id))
  }

  /** None does any more. */
  forget(engine: Engine<CatalogState>, { hash, part: { id } }: PolicyPart<EndpointsPart>): void {
    const content = this.#followed.get(hash)?.content
    this.#followed.delete(hash)
    this.#fresh.delete(hash)
    const frames = this.#frames.get(id)
    frames?.delete(hash)
    if (content !== undefined && frames?.size === 0) this.#byHash.delete(content.hash)
    if (frames?.size !== 0) return
    this.#frames.delete(id)
    engine.unpin(queryOf(id), keyOf(id))
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
    const after = engine.get(queryOf(followed.id), keyOf(followed.id))
    // What led there is gone, and so will be the policies that hold the frame.
    if (after === undefined || after.hash === followed.content?.hash) return undefined
    const before = followed.content
    followed.content = after
    if (before !== undefined) this.#byHash.delete(before.hash)
    this.#byHash.set(after.hash, after)
    return before === undefined ? undefined : { frame, after }
  }
}

function queryOf(id: string): typeof endpointsPart {
  return id.startsWith(GATEWAY_PREFIX) ? gatewayEndpointsPart : endpointsPart
}

/** Neither namespaces nor services have a `|` in their names. */
function keyOf(id: string): TargetPortRef {
  const own = id.startsWith(GATEWAY_PREFIX) ? id.slice(GATEWAY_PREFIX.length) : id
  const bar = own.lastIndexOf('|')
  return { ...parseNameKey(own.slice(0, bar)), targetPort: Number(own.slice(bar + 1)) }
}
