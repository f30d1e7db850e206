import type { EndpointsPart, OutboundPart, PartHash, PartLookup, ProxyPart } from '@osm-ts/driver-api/policy'

import type { LiveEndpoints, ProxyResources } from '../resources/types.js'
import { type Breakers, breakersOf } from './upstreams/breakers.js'
import { SharedChains } from './outbound/shared-chains.js'
import { type PlaintextUpstreams, plaintextUpstreams } from './upstreams/plaintext.js'
import { CallersTranslation } from './access/callers.js'
import { ClusterTranslation } from './upstreams/clusters.js'
import { CredentialTranslation } from './access/credentials.js'
import { EndpointTranslation } from './upstreams/endpoint-sets.js'
import { ListenerTranslation } from './listeners/listeners.js'
import { FragmentCache } from './encoding/fragments.js'
import { type Lease, Memo } from './encoding/memo.js'
import { PolicyReader, replicaPolicy, setTable } from './policy-reader.js'
import type { DrainEpochs, ProxyView } from './proxy-view.js'
import { SharedManagerTranslation } from './outbound/shared-managers.js'
import { RouteTranslation } from './routing/route-sets.js'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './settings.js'
import { egressGatewayRoutesOf } from './egress/egress-gateway-routes.js'

const NO_EPOCHS: DrainEpochs = new Map()
const NONE_RETIRED: readonly OutboundPart[] = []

/**
 * Turns policies into xDS resources. Pure but for memory: equal policies give equal bytes, and proxies that share parts share what is made of them, down
 * to the same objects for whole sets.
 *
 * What was made for a proxy is remembered until the next translation for the same proxy, until {@link release}, or until no one has the result any more.
 */
export class Translator {
  readonly #memo = new Memo()
  readonly #sets = setTable(this.#memo)
  readonly #breakers = this.#memo.table<Breakers>()
  readonly #plaintext = this.#memo.table<PlaintextUpstreams>()
  readonly #callers = new CallersTranslation(this.#memo)
  readonly #clusters = new ClusterTranslation(this.#memo)
  readonly #credentials = new CredentialTranslation(this.#memo)
  readonly #endpoints = new EndpointTranslation(this.#memo)
  readonly #managers = new SharedManagerTranslation(this.#memo)
  readonly #listeners = new ListenerTranslation(this.#memo, this.#managers)
  readonly #routes = new RouteTranslation(this.#memo)
  readonly #sharedChains = new SharedChains()
  readonly #frames = this.#memo.table<FrameResources>()
  readonly #held = new Map<ProxyPart['id'], Held>()
  readonly #httpLimits: HttpLimits
  readonly #fragments = new FragmentCache()
  /** A session that ends without a word must not cost memory forever. */
  readonly #unreachable = new FinalizationRegistry<Held>((held) => this.#letGo(held))

  constructor(httpLimits: HttpLimits = DEFAULT_HTTP_LIMITS) {
    this.#httpLimits = httpLimits
  }

  /**
   * @param parts - gives every part that is reachable from the proxy part
   * @param drainEpochs - marks of withdrawn access; a served port whose mark differs from before has its connections drained
   * @param retired - called services that the policy no longer has, sorted by id: the same list for as long as it holds the same
   * @throws OsmError with code `OSM_POLICY_INVALID` if a reference leads to a part of another kind
   */
  translate(
    proxy: ProxyPart,
    parts: PartLookup,
    revision: number,
    drainEpochs: DrainEpochs = NO_EPOCHS,
    retired: readonly OutboundPart[] = NONE_RETIRED,
  ): ProxyResources {
    const reader = new PolicyReader(parts, this.#sets, this.#httpLimits, this.#fragments)
    const before = this.#held.get(proxy.id)
    const isSame =
      before?.drainEpochs === drainEpochs && before.retired === retired && differInEndpointsOnly(before.proxy, proxy)
    const frame = isSame ? before.frame : this.#frameOf(proxy, reader, drainEpochs, retired)
    frame.holders += 1
    let endpoints: Lease<LiveEndpoints>
    try {
      endpoints = this.#memo.lease(() => this.#endpoints.translate(proxy, reader))
    } catch (error) {
      letGoOf(frame)
      throw error
    }
    const { types, ...others } = frame.lease.value
    const live = endpoints.value
    const resources: ProxyResources = {
      revision,
      types: {
        ...types,
        get endpoints() {
          return live.current
        },
      },
      endpoints: live,
      ...others,
    }
    const held: Held = { proxy, drainEpochs, retired, frame, endpoints, resources: new WeakRef(resources) }
    // Only now: what both revisions need must not be forgotten in between.
    if (before !== undefined) this.#letGo(before)
    this.#held.set(proxy.id, held)
    this.#unreachable.register(resources, held, held)
    return resources
  }

  /** Endpoints have become others, under the hashes that policies refer to them by. Gives every set that they are in. */
  renew(parts: Iterable<readonly [PartHash, EndpointsPart]>): readonly LiveEndpoints[] {
    return this.#endpoints.renew(parts)
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

  #frameOf(proxy: ProxyPart, reader: PolicyReader, drainEpochs: DrainEpochs, retired: readonly OutboundPart[]): Frame {
    const settings = reader.settings(proxy)
    const policy = replicaPolicy(proxy, settings.mesh.requestMetrics)
    const build = (): FrameResources => {
      const upstreams = reader.members(policy.upstreams, 'upstream').contents
      const view: ProxyView = {
        proxy: policy,
        reader,
        settings,
        served: reader.served(policy),
        servedOutside: reader.servedOutside(policy),
        egressGatewayRoutes: egressGatewayRoutesOf(policy, reader),
        breakers: this.#breakers.get(upstreams, () => breakersOf(policy, reader)),
        plaintext: this.#plaintext.get(upstreams, () => plaintextUpstreams(policy, reader)),
        sharedChains: this.#sharedChains,
        drainEpochs,
        retired,
      }
      return {
        types: {
          cluster: this.#clusters.translate(view),
          listener: this.#listeners.translate(view),
          extension: this.#managers.translate(view),
          route: this.#routes.translate(view),
        },
        callers: this.#callers.translate(view),
        credentials: this.#credentials.translate(view),
        ...(settings.trust.workloadApiId === undefined ? {} : { workloadApi: true }),
      }
    }
    // What is retired is kept for single proxies, by when each of them was told.
    const key = retired.length === 0 ? JSON.stringify([policy, ...drainEpochs]) : undefined
    const lease = this.#memo.lease(() => (key === undefined ? build() : this.#frames.get(key, build)))
    return { lease, holders: 0 }
  }

  #letGo(held: Held): void {
    this.#unreachable.unregister(held)
    if (this.#held.get(held.proxy.id) === held) this.#held.delete(held.proxy.id)
    letGoOf(held.frame)
    held.endpoints.release()
  }
}

/** What is made of a policy apart from its endpoints: once for all replicas of a workload whose policies are the same. */
type FrameResources = Omit<ProxyResources, 'revision' | 'types' | 'endpoints'> & {
  readonly types: Omit<ProxyResources['types'], 'endpoints'>
}

/** Endpoints come and go far more often than all else: revisions that differ in nothing but them have one frame. */
interface Frame {
  readonly lease: Lease<FrameResources>
  /** Revisions of the proxy that are made with it. */
  holders: number
}

function letGoOf(frame: Frame): void {
  frame.holders -= 1
  if (frame.holders === 0) frame.lease.release()
}

/**
 * Compares the members, not what they hold: those that stayed as they were are the same objects where the policy comes from this process. Elsewhere they
 * are not, and everything is looked up again.
 */
function differInEndpointsOnly(before: ProxyPart, after: ProxyPart): boolean {
  const names = Object.keys(after) as (keyof ProxyPart)[]
  const same = names.every((name) => name === 'endpoints' || Object.is(before[name], after[name]))
  return same && Object.keys(before).every((name) => name === 'endpoints' || Object.hasOwn(after, name))
}

/** What is remembered for a proxy. Must not reach the resources themselves, or they would never become unreachable. */
interface Held {
  readonly proxy: ProxyPart
  readonly drainEpochs: DrainEpochs
  readonly retired: readonly OutboundPart[]
  readonly frame: Frame
  readonly endpoints: Lease<LiveEndpoints>
  readonly resources: WeakRef<ProxyResources>
}
