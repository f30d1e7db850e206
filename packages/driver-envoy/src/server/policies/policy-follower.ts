import { type Part, type PartHash, partRefs, type PolicyUpdate, type ProxyPart } from '@osm-ts/driver-api/policy'
import type { PartStore, WorkTally, WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { ProxyResources } from '../../resources/types.js'
import { DrainTracker, type MissedChanges } from './drain-tracker.js'
import type { DrainTime } from './retired-resources.js'
import { RetiredServices } from './retired-services.js'
import type { DrainEpochs, ResourceTranslator } from './translator-port.js'
import type { LabelledEpochs } from '../state/version-label.js'

/** What a follower shares with those of other proxies. */
export interface PolicyFollowerPorts {
  readonly parts: PartStore
  readonly translator: ResourceTranslator
  readonly turns: WorkTurns
}

/** Turns the policy steps of one proxy into its resources. */
export class PolicyFollower {
  readonly #ports: PolicyFollowerPorts
  readonly #tally: WorkTally
  readonly #drains = new DrainTracker()
  readonly #retired: RetiredServices
  #proxy: ProxyPart | undefined
  #resources: ProxyResources | undefined
  #held: readonly PartHash[] = []
  #closed = false

  /**
   * @param tally - told how long work has waited for its turn, and has taken
   * @param drain - how long connections are drained
   */
  constructor(ports: PolicyFollowerPorts, tally: WorkTally, drain: DrainTime) {
    this.#ports = ports
    this.#tally = tally
    this.#retired = new RetiredServices(drain)
  }

  get resources(): ProxyResources | undefined {
    return this.#resources
  }

  get epochs(): DrainEpochs {
    return this.#drains.epochs
  }

  /**
   * Moves on to another policy. If that fails, everything stays as it was.
   *
   * @throws OsmError with code `OSM_PART_UNKNOWN`, or whatever translation throws
   */
  async apply({ proxy, revision }: PolicyUpdate): Promise<ProxyResources> {
    const { parts, translator, turns } = this.#ports
    const held = partRefs(proxy)
    await parts.retain(held)
    const { epochs } = this.#drains
    try {
      const asked = performance.now()
      const resources = await turns.run(() => {
        this.#tally.queued(performance.now() - asked)
        const find = (hash: PartHash) => parts.find(hash)
        const before = this.#proxy === undefined ? undefined : { proxy: this.#proxy, find }
        this.#drains.advance(before, { proxy, find })
        if (before !== undefined) this.#retired.advance(before, { proxy, find })
        return this.#translate(proxy, revision)
      })
      if (this.#closed) {
        parts.release(held)
        translator.release(proxy.id, resources)
        return resources
      }
      parts.release(this.#held)
      this.#held = held
      this.#proxy = proxy
      this.#resources = resources
      return resources
    } catch (error) {
      this.#drains.restore(epochs)
      parts.release(held)
      throw error
    }
  }

  /** Takes over the epochs that the proxy brought along. Undefined if that changes nothing. */
  adopt(labelled: LabelledEpochs): ProxyResources | undefined {
    return this.#drains.adopt(labelled, this.#proxy) ? this.#again() : undefined
  }

  /** Drains served ports whose rules or roots changed while the proxy was away. Undefined if that changes nothing. */
  assumeWithdrawn(missed: MissedChanges): ProxyResources | undefined {
    return this.#proxy !== undefined && this.#drains.assumeWithdrawn(missed, this.#proxy) ? this.#again() : undefined
  }

  /** Milliseconds until {@link expire} changes something; undefined if it never does. */
  get nextInMs(): number | undefined {
    return this.#retired.nextInMs
  }

  /** Gives up what was kept for connections that are drained by now. Undefined if that changes nothing. */
  expire(): ProxyResources | undefined {
    return this.#retired.expire() ? this.#again() : undefined
  }

  /** A part of the policy in force. */
  find(hash: PartHash): Part | undefined {
    return this.#ports.parts.find(hash)
  }

  /** Gives up the parts and what was made of them. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#ports.parts.release(this.#held)
    this.#held = []
    if (this.#proxy !== undefined && this.#resources !== undefined)
      this.#ports.translator.release(this.#proxy.id, this.#resources)
  }

  #again(): ProxyResources | undefined {
    if (this.#proxy === undefined || this.#resources === undefined || this.#closed) return undefined
    this.#resources = this.#translate(this.#proxy, this.#resources.revision)
    return this.#resources
  }

  #translate(proxy: ProxyPart, revision: number): ProxyResources {
    const { parts, translator } = this.#ports
    const start = performance.now()
    try {
      return translator.translate(proxy, (hash) => parts.get(hash), revision, this.#drains.epochs, this.#retired.list)
    } finally {
      this.#tally.translated(performance.now() - start)
    }
  }
}
