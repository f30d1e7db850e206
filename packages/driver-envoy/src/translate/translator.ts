import type { PartLookup, ProxyPart } from '@osm-ts/driver-api'

import type { ProxyResources } from '../resources/types.js'
import { type Breakers, breakersOf } from './breakers.js'
import { CallersTranslation } from './callers.js'
import { ClusterTranslation } from './clusters.js'
import { CredentialTranslation } from './credentials.js'
import { EndpointTranslation } from './endpoint-sets.js'
import { ListenerTranslation } from './listeners.js'
import { Memo } from './memo.js'
import { PolicyReader, setTable } from './policy-reader.js'
import type { DrainEpochs, ProxyView } from './proxy-view.js'
import { RouteTranslation } from './route-sets.js'
import { waysOutOf } from './ways-out.js'

const NO_EPOCHS: DrainEpochs = new Map()

/**
 * Turns policies into xDS resources. Pure but for memory: equal policies give equal bytes, and proxies that share parts share what is made of them, down
 * to the same objects for whole sets.
 *
 * What was made for a proxy is remembered until the next translation for the same proxy, until {@link release}, or until nobody has the result any more.
 */
export class Translator {
  readonly #memo = new Memo()
  readonly #sets = setTable(this.#memo)
  readonly #breakers = this.#memo.table<Breakers>()
  readonly #callers = new CallersTranslation(this.#memo)
  readonly #clusters = new ClusterTranslation(this.#memo)
  readonly #credentials = new CredentialTranslation(this.#memo)
  readonly #endpoints = new EndpointTranslation(this.#memo)
  readonly #listeners = new ListenerTranslation(this.#memo)
  readonly #routes = new RouteTranslation(this.#memo)
  readonly #held = new Map<ProxyPart['id'], Held>()
  /** A session that ends without a word must not cost memory for ever. */
  readonly #unreachable = new FinalizationRegistry<Held>((held) => this.#letGo(held))

  /**
   * @param parts - gives every part that is reachable from the proxy part
   * @param drainEpochs - marks of withdrawn access; a served port whose mark differs from before has its connections drained
   * @throws OsmError with code `OSM_POLICY_INVALID` if a reference leads to a part of another kind
   */
  translate(
    proxy: ProxyPart,
    parts: PartLookup,
    revision: number,
    drainEpochs: DrainEpochs = NO_EPOCHS,
  ): ProxyResources {
    const reader = new PolicyReader(parts, this.#sets)
    const lease = this.#memo.lease((): ProxyResources => {
      const view: ProxyView = {
        proxy,
        reader,
        settings: reader.settings(proxy),
        served: reader.served(proxy),
        servedOutside: reader.servedOutside(proxy),
        waysOut: waysOutOf(proxy, reader),
        breakers: this.#breakers.get(reader.members(proxy.upstreams, 'upstream').contents, () =>
          breakersOf(proxy, reader),
        ),
        drainEpochs,
      }
      return {
        revision,
        types: {
          cluster: this.#clusters.translate(view),
          endpoints: this.#endpoints.translate(view),
          listener: this.#listeners.translate(view),
          route: this.#routes.translate(view),
        },
        callers: this.#callers.translate(view),
        credentials: this.#credentials.translate(view),
      }
    })
    const held = { proxyId: proxy.id, resources: new WeakRef(lease.value), release: lease.release }
    const before = this.#held.get(proxy.id)
    // Only now: what both revisions need must not be forgotten in between.
    if (before !== undefined) this.#letGo(before)
    this.#held.set(proxy.id, held)
    this.#unreachable.register(lease.value, held, held)
    return lease.value
  }

  /** Forgets what was made for a proxy that is gone. Other proxies keep what they share with it. Does nothing if the proxy has newer resources. */
  release(proxyId: ProxyPart['id'], resources?: ProxyResources): void {
    const held = this.#held.get(proxyId)
    if (held === undefined || (resources !== undefined && held.resources.deref() !== resources)) return
    this.#letGo(held)
  }

  /** Number of results that are remembered. */
  get remembered(): number {
    return this.#memo.size
  }

  #letGo(held: Held): void {
    this.#unreachable.unregister(held)
    if (this.#held.get(held.proxyId) === held) this.#held.delete(held.proxyId)
    held.release()
  }
}

/** What is remembered for a proxy. Must not reach the resources themselves, or they would never become unreachable. */
interface Held {
  readonly proxyId: ProxyPart['id']
  readonly resources: WeakRef<ProxyResources>
  readonly release: () => void
}
