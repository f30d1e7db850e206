import { OsmError, type ProxyRef } from '@osm-ts/driver-api'
import type { Part, PartHash, PolicyUpdate, ProxyPart } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'
import type { EndpointsChange } from '../catalog/store/endpoint-contents.js'
import { PolicyPartStore } from '../catalog/store/policy-part-store.js'
import { PolicyDiffs } from '../catalog/store/policy-diff.js'
import { proxyKeyOfRef, type ProxyKey } from '../identity/proxy-key.js'
import { CallersOfEndpoints } from './callers-of-endpoints.js'
import { EndpointsFeed } from './endpoints-feed.js'
import { HostedSession, type UnsettledSessions } from './hosted-session.js'
import type { PolicyProvider } from './policy-provider.js'
import { PolicyStream } from './policy-stream.js'
import type { PushLog } from './push-log.js'
import type { unprotectedByClass } from './unprotected-by-class.js'

/** What {@link PolicyDelivery} needs. */
export interface PolicyDeliveryOptions {
  readonly policies: PolicyProvider
  readonly pushes: PushLog
  /** The session of a connected proxy. */
  readonly sessionOf: (proxy: ProxyKey) => string | undefined
}

/** The driver that serves a session. */
export interface ServingDriver {
  /** In lower case. */
  readonly driverClass: string
  /** True if it follows endpoints apart from policies. */
  readonly followsEndpoints: boolean
  /** What keeps a served port closed. */
  readonly unprotected: ReturnType<typeof unprotectedByClass> | undefined
}

/** Takes policies and endpoints to the sessions of proxies, and holds all parts that are in force or on their way. */
export class PolicyDelivery {
  /** Endpoints, for drivers that follow them. */
  readonly endpoints = new EndpointsFeed()
  /** Sessions that have not acknowledged everything. */
  readonly unsettled: UnsettledSessions = { rejected: new Set(), unknown: new Set() }
  readonly #options: PolicyDeliveryOptions
  readonly #store = new PolicyPartStore()
  readonly #diffs = new PolicyDiffs()
  readonly #sessions = new Map<string, HostedSession>()
  readonly #callers = new CallersOfEndpoints<HostedSession>()

  constructor(options: PolicyDeliveryOptions) {
    this.#options = options
  }

  /** A session has begun. */
  began(proxy: ProxyRef, { driverClass, followsEndpoints, unprotected }: ServingDriver): void {
    const { policies, pushes } = this.#options
    const session = new HostedSession(
      pushes,
      driverClass,
      followsEndpoints,
      proxy.session,
      this.unsettled,
      (measured) => new PolicyStream(this.#store, this.#diffs, measured, unprotected),
    )
    this.#sessions.set(proxy.session, session)
    const policy = policies.policyFor(proxyKeyOfRef(proxy))
    if (policy !== undefined) session.want(this.#policyOf(session, policy))
  }

  /** A session has ended. */
  ended(session: string): void {
    const hosted = this.#sessions.get(session)
    hosted?.close()
    if (hosted !== undefined) this.#callers.delete(hosted)
    this.#sessions.delete(session)
  }

  /** The session of that name; undefined once it has ended. */
  session(session: string): HostedSession | undefined {
    return this.#sessions.get(session)
  }

  /** The steps of the policy of a proxy. @throws OsmError with code `OSM_PROXY_EVICTED` */
  watch({ session, uuid }: ProxyRef, signal: AbortSignal): AsyncIterable<PolicyUpdate> {
    const stream = this.#sessions.get(session)?.stream
    if (stream !== undefined) return stream.steps(signal)
    throw new OsmError('OSM_PROXY_EVICTED', `the session of proxy ${uuid} has ended`, { details: { uuid } })
  }

  /** @throws OsmError with code `OSM_PART_UNKNOWN` */
  part(hash: PartHash, followsEndpoints: boolean): Part {
    // Only for a driver that follows endpoints does a hash stand for whatever they are: for others it stands for its content.
    const part =
      (followsEndpoints ? this.#options.policies.endpointsOf(hash)?.part : undefined) ?? this.#store.get(hash)
    if (part !== undefined) return part
    throw new OsmError('OSM_PART_UNKNOWN', `no policy in force or on its way holds the part ${hash}`, {
      details: { hash },
    })
  }

  /** Parts that a connected proxy should have and has not acknowledged. */
  unacknowledgedParts(): ReadonlySet<PartHash> {
    const sessions = [...this.unsettled.rejected, ...this.unsettled.unknown]
    return new Set(sessions.flatMap((session) => this.#sessions.get(session)?.stream.unacknowledged() ?? []))
  }

  /** Takes policies that have changed to those of the proxies that are connected. */
  offerPolicies(changed: ReadonlySet<ProxyKey>): void {
    for (const proxy of changed) {
      const session = this.#options.sessionOf(proxy)
      const hosted = session === undefined ? undefined : this.#sessions.get(session)
      const policy = this.#options.policies.policyFor(proxy)
      if (hosted !== undefined && policy !== undefined) hosted.offer(this.#policyOf(hosted, policy))
    }
  }

  /** Tells those who may call them of endpoints: drivers that follow them once for all their proxies, others by another policy for each proxy. */
  offerEndpoints(changes: readonly EndpointsChange[]): void {
    const generation = this.endpoints.push(changes)
    const frames = changes.map(({ frame }) => frame)
    this.#callers.forEachOf(frames, (hosted) => {
      if (hosted.followsEndpoints) {
        const named = frames.length === 1 ? frames : frames.filter((frame) => this.#callers.names(hosted, [frame]))
        hosted.offerEndpoints(generation, named)
      } else {
        const policy = this.#callers.policyOf(hosted)
        if (policy !== undefined) hosted.offer(this.#options.policies.whole(policy))
      }
    })
  }

  /** The policy as the driver of the session gets it. */
  #policyOf(hosted: HostedSession, policy: PolicyPart<ProxyPart>): PolicyPart<ProxyPart> {
    this.#callers.set(hosted, policy)
    const awaited = hosted.stream.awaitedEndpoints
    if (awaited.size > 0 && !this.#callers.names(hosted, awaited)) hosted.forgetEndpoints()
    return hosted.followsEndpoints ? policy : this.#options.policies.whole(policy)
  }
}
