import { createLogger, Metrics, type PolicyPart } from '@osm-ts/core'
import type { Credential, ProxyRef } from '@osm-ts/driver-api'
import type { Part, PartHash, PolicyUpdate, ProxyPart } from '@osm-ts/driver-api/policy'
import { PartStore, WorkTally, WorkTurns } from '@osm-ts/driver-api/toolkit'
import { Translator } from '@osm-ts/driver-envoy'

import { PolicyDiffs, type PolicyPartStore, PolicyStream } from '@osm-ts/core/testing'
import {
  type EncodedResource,
  ResourceDiffer,
  limits,
  PolicyFollower,
  type PolicyFollowerPorts,
  deltaProtocol,
  ProxySession,
  type DeltaRequest,
  rootCertificates,
  XdsMetrics,
  pushOrder,
  typeUrls,
  type XdsType,
} from '@osm-ts/driver-envoy/testing'

const scope = { types: pushOrder, wildcardTypes: ['cluster', 'listener'] } as const

/** What all sessions of a replica share: that of the host and that of the driver of class envoy. */
export class Replica {
  readonly catalogParts: PolicyPartStore
  readonly diffs = new PolicyDiffs()
  readonly follower: PolicyFollowerPorts
  readonly roots: EncodedResource
  readonly metrics = new XdsMetrics(new Metrics())
  readonly logger = createLogger('limits', 'disabled')
  readonly #differ = new ResourceDiffer()

  /** @param root - PEM that proxies verify each other by */
  constructor(catalogParts: PolicyPartStore, root: string) {
    this.catalogParts = catalogParts
    this.roots = rootCertificates({ id: 'root', certificates: [root] })
    const partOf = async (hash: PartHash): Promise<Part> => {
      const part = catalogParts.get(hash)
      if (part === undefined) throw new Error(`part ${hash} is not held`)
      return part
    }
    this.follower = {
      parts: new PartStore({ get: partOf }),
      translator: new Translator(),
      turns: new WorkTurns(limits.turnMs),
    }
  }

  diff: ResourceDiffer['diff'] = (before, after) => this.#differ.diff(before, after)
}

/**
 * A proxy at a controller: the session of the host and that of the driver of class envoy. The proxy requests everything and acknowledges it at once.
 * There is no connection: no TLS, no HTTP/2, and no encoding of messages.
 */
export class StandInSession {
  readonly #replica: Replica
  readonly #stream: PolicyStream
  readonly #steps: AsyncGenerator<PolicyUpdate, void, undefined>
  readonly #end = new AbortController()
  readonly #session: ProxySession<DeltaRequest>
  /** Of resources that were pushed. */
  octets = 0
  pushes = 0

  constructor(replica: Replica, proxy: ProxyRef) {
    this.#replica = replica
    this.#stream = new PolicyStream(replica.catalogParts, replica.diffs)
    this.#steps = this.#stream.steps(this.#end.signal)
    this.#session = new ProxySession({
      proxy,
      protocol: deltaProtocol,
      scope,
      tag: 'limits',
      follower: new PolicyFollower(replica.follower, new WorkTally(), { ms: 0, now: () => Date.now() }),
      diff: replica.diff,
      trace: () => [],
      metrics: replica.metrics,
      logger: replica.logger,
      now: () => Date.now(),
      drainMs: 0,
      endpointsGeneration: () => 0,
    })
  }

  /** True when the host knows that the proxy has the policy that it is to have. */
  get applied(): boolean {
    return this.#stream.state === 'applied'
  }

  /** Connects, and returns when the proxy has everything. */
  async connect(policy: PolicyPart<ProxyPart>, credential: Credential): Promise<void> {
    this.#session.setRoots(this.#replica.roots)
    this.#session.setCertificate(credential)
    await this.move(policy)
    this.#ask('cluster', [])
    const { resources } = this.#session
    if (resources === undefined) throw new Error('the policy was not translated')
    this.#ask('endpoints', namesOf(resources.types.endpoints))
    this.#ask('listener', [])
    this.#ask('route', namesOf(resources.types.route))
    this.#ask('secret', ['service-cert', 'root-cert-for-mtls', ...namesOf(resources.callers)])
    this.#exchange()
  }

  /** Gives the proxy another policy. */
  async move(policy: PolicyPart<ProxyPart>): Promise<void> {
    this.#stream.want(policy)
    const { value: update } = await this.#steps.next()
    if (update === undefined) throw new Error('the session has ended')
    const failed = await this.#session.applyPolicy(update)
    if (failed !== undefined) throw new Error(failed.parts[0]?.message ?? 'the policy cannot be translated')
    this.#exchange()
  }

  #ask(type: XdsType, subscribe: readonly string[]): void {
    this.#receive(type, { subscribe })
    this.#exchange()
  }

  /** Everything that is due goes out and is acknowledged. */
  #exchange(): void {
    for (let push = this.#session.next(); push !== undefined; push = this.#session.next()) {
      const octets = push.resources.reduce((sum, { value }) => sum + value.length, 0)
      this.octets += octets
      this.pushes += 1
      this.#session.noteSent(push, octets)
      this.#receive(push.type, { responseNonce: push.nonce })
    }
    const report = this.#session.report()
    if (report !== undefined) this.#stream.report(report, Date.now())
  }

  #receive(type: XdsType, fields: Partial<DeltaRequest>): void {
    const request = {
      typeUrl: typeUrls[type],
      subscribe: [],
      unsubscribe: [],
      initialVersions: new Map(),
      responseNonce: '',
    }
    this.#session.receive({ ...request, ...fields })
  }
}

function namesOf(resources: Iterable<{ readonly name: string }>): readonly string[] {
  return [...resources].map(({ name }) => name)
}
