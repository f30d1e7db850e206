import { setImmediate as nextTurn } from 'node:timers/promises'

import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import {
  type ApplyReport,
  type Credential,
  type DriverCertificates,
  type Eviction,
  isOsmError,
  type Logger,
  type PolicySource,
  type Proxies,
  type ProxyRef,
} from '@osm-ts/driver-api'
import type { PolicyUpdate } from '@osm-ts/driver-api/policy'
import { CredentialFollower, WorkTally, type WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { EndpointsSubscriber, EndpointUpdates } from './policies/endpoint-updates.js'
import { IdentityFollower } from './credentials/identity-follower.js'
import { limits } from './limits.js'
import type { LiveEndpoints } from '../resources/types.js'
import { PolicyFollower, type PolicyFollowerPorts } from './policies/policy-follower.js'
import type { AnyRequest, Protocol } from './state/protocols.js'
import type { ProxyConnections } from './proxy-connections.js'
import { ProxySession, type StreamScope } from './proxy-session.js'
import type { Reporter, ReportQueue } from './policies/report-queue.js'
import { ResponseWriter, type ResponseWriterPorts } from './responses/response-writer.js'
import type { OutgoingResponse } from './responses/service-definitions.js'
import type { StreamRegistry } from './stream-registry.js'
import { endOfEviction, refusalOf, type StreamEnd, StreamRefusal } from './stream-refusal.js'
import type { RefusalTracer, ResourceDiffer } from './policies/translator-port.js'
import type { TrustRoots } from './credentials/trust-roots.js'
import type { XdsMetrics } from './xds-metrics.js'

/** What all streams of a server share. */
export interface StreamPorts extends PolicyFollowerPorts, ResponseWriterPorts {
  readonly proxies: Proxies
  /** When thousands come at once, finding out who they are must not keep those waiting who are known. */
  readonly authentications: WorkTurns
  readonly catalog: Pick<PolicySource, 'policies'>
  readonly certificates: Pick<DriverCertificates, 'identity' | 'credentials'>
  readonly roots: TrustRoots
  readonly diff: ResourceDiffer
  readonly trace: RefusalTracer
  readonly reports: ReportQueue
  readonly endpointUpdates: Pick<EndpointUpdates, 'subscribe' | 'unsubscribe' | 'generation'>
  readonly streams: StreamRegistry
  readonly connections: Pick<ProxyConnections, 'establish' | 'arrived' | 'cut' | 'condemn' | 'isCondemned'>
  readonly metrics: XdsMetrics
  readonly logger: Logger
  readonly now: () => number
  /** See `ProxySessionOptions`. */
  readonly drainMs: number
  /** Makes the nonces of a stream its own. */
  readonly randomTag: () => string
}

/** A gRPC stream of a proxy, from its first byte to its end. */
export class XdsStream<Request extends AnyRequest> {
  readonly #call: ServerDuplexStream<Request, OutgoingResponse>
  readonly #protocol: Protocol<Request>
  readonly #scope: StreamScope
  readonly #ports: StreamPorts
  readonly #peer: string
  readonly #over = new AbortController()
  readonly #work = new WorkTally()
  /** A policy was taken in of which the host has not been told yet. */
  #isNews = false
  /** Something was requested, and what came of it is reported with the answer to what is sent. */
  #isRequested = false
  /** Until something is due that only time makes so. */
  #later: NodeJS.Timeout | undefined
  /** What the stream hears of endpoints by. */
  #subscriber: EndpointsSubscriber | undefined
  #endpoints: LiveEndpoints | undefined
  #reporter: Reporter | undefined
  /** The report that the host is told at the moment. */
  #telling: Promise<void> | undefined
  /** There may be something to report since. */
  #mustReport = false
  // Made once for all reports: a change that reaches all proxies has one of each.
  readonly #told = (): void => {
    this.#telling = undefined
    if (this.#mustReport) this.#reportSoon()
    this.#mustReport = false
  }
  readonly #notTold = (error: unknown): void => {
    this.#logNotTold(error)
    this.#told()
  }

  constructor(
    call: ServerDuplexStream<Request, OutgoingResponse>,
    protocol: Protocol<Request>,
    scope: StreamScope,
    ports: StreamPorts,
  ) {
    this.#call = call
    this.#protocol = protocol
    this.#scope = scope
    this.#ports = ports
    this.#peer = call.getPeer()
  }

  /** Serves the proxy until the stream ends, no matter who ends it. Never rejects. */
  async serve(): Promise<void> {
    const over = this.#over.signal
    for (const event of ['cancelled', 'close', 'error']) this.#call.once(event, () => this.#over.abort())
    // Streams that are reset as soon as they are opened are gone after this turn of the event loop, before they cost anything.
    await nextTurn()
    if (over.aborted) return
    const proxy = await this.#authenticate()
    if (proxy === undefined) return
    const { metrics, streams, proxies, reports, logger } = this.#ports
    const follower = new PolicyFollower(this.#ports, this.#work, { ms: this.#ports.drainMs, now: this.#ports.now })
    const identity = this.#createIdentity(proxy, (credential) => {
      session.setCertificate(credential)
      writer.notify()
    })
    const session = this.#createSession(proxy, follower, identity)
    const writer = this.#createWriter(proxy, session)
    over.addEventListener('abort', () => writer.close(), { once: true })
    this.#listen(proxy, session, writer, identity)
    const entry = { session, evict: (reason: Eviction['reason']) => this.#evict(reason) }
    streams.add(entry)
    metrics.connected()
    try {
      await Promise.all([
        this.#supervise(proxy, () => this.#followPolicy(session, writer)),
        this.#supervise(proxy, () => this.#followIdentity(identity)),
      ])
    } finally {
      this.#over.abort()
      clearTimeout(this.#later)
      streams.delete(entry)
      this.#subscribe(undefined)
      if (this.#reporter !== undefined) reports.delete(this.#reporter)
      await this.#telling
      metrics.disconnected()
      follower.close()
      await proxies
        .disconnected(proxy.session)
        .catch((error: unknown) =>
          logger.error({ proxy: proxy.uuid, error: String(error) }, 'host was not told of an end'),
        )
    }
  }

  async #authenticate(): Promise<ProxyRef | undefined> {
    const { proxies, connections, authentications, metrics, logger } = this.#ports
    const certificate = this.#call.getAuthContext().sslPeerCertificate?.raw
    try {
      if (connections.isCondemned(this.#peer))
        throw new StreamRefusal(status.UNAVAILABLE, 'the connection is about to be closed')
      if (certificate === undefined)
        throw new StreamRefusal(status.UNAUTHENTICATED, 'the connection has no verified certificate')
      const proxy = await authentications.run(() => proxies.authenticate(certificate))
      if (this.#over.signal.aborted) {
        await proxies.disconnected(proxy.session)
        return undefined
      }
      connections.establish(this.#peer, proxy.commonName)
      return proxy
    } catch (error) {
      const refusal = error instanceof StreamRefusal ? error : refusalOf(error)
      if (refusal.end.code === status.RESOURCE_EXHAUSTED) metrics.rejected()
      logger.warn({ peer: this.#peer, error: String(error) }, 'proxy is not accepted')
      this.#end(refusal.end, true)
      return undefined
    }
  }

  #createIdentity(proxy: ProxyRef, onCredential: (credential: Credential) => void): IdentityFollower {
    return new IdentityFollower({
      proxy,
      certificates: this.#ports.certificates,
      onCredential,
      reconnect: () => this.#evict('rebalance'),
      signal: this.#over.signal,
    })
  }

  #createSession(proxy: ProxyRef, follower: PolicyFollower, identity: IdentityFollower): ProxySession<Request> {
    const { metrics, logger, diff, trace, now, drainMs, randomTag, endpointUpdates } = this.#ports
    return new ProxySession<Request>({
      proxy,
      protocol: this.#protocol,
      scope: this.#scope,
      tag: randomTag(),
      follower,
      diff,
      trace,
      metrics,
      logger,
      now,
      drainMs,
      endpointsGeneration: () => endpointUpdates.generation,
      onCertificateRefused: (isCertain) => (isCertain ? identity.refused() : identity.doubted()),
    })
  }

  #createWriter(proxy: ProxyRef, session: ProxySession<Request>): ResponseWriter {
    const source = {
      variant: this.#protocol.variant,
      mayBeDue: () => session.mayBeDue,
      next: () => session.next(),
      noteSent: session.noteSent.bind(session),
      write: (response: OutgoingResponse, done: (error?: Error | null) => void) =>
        void this.#call.write(response, done),
      idle: (sent: boolean) => this.#rest(session, writer, sent),
      stuck: () => this.#ports.connections.cut(this.#peer),
      failed: (error: unknown) => this.#fail(proxy, error),
    }
    const writer: ResponseWriter = new ResponseWriter(source, this.#ports, this.#work)
    return writer
  }

  #listen(proxy: ProxyRef, session: ProxySession<Request>, writer: ResponseWriter, identity: IdentityFollower): void {
    const { roots, reports } = this.#ports
    const reporter = { report: () => this.#attempt(proxy, () => this.#report(session)) }
    this.#reporter = reporter
    this.#subscriber = {
      renew: (endpoints, generation) => {
        session.renewEndpoints(endpoints, generation)
        if (session.mayBeDue) writer.notify()
        else reports.add(reporter)
      },
      reached: () => reports.add(reporter),
    }
    roots.listen((resource) => {
      this.#attempt(proxy, () => session.setRoots(resource))
      writer.notify()
    }, this.#over.signal)
    this.#call.on('data', (request: Request) => {
      if (this.#over.signal.aborted) return
      const isAnswer = this.#attempt(proxy, () => session.receive(request))
      identity.begin(session.hasKey)
      // First requests come one after the other, and each has something sent.
      if (isAnswer !== true && session.mayBeDue) this.#isRequested = true
      // Most answers are followed by another response, and its answer has more to tell.
      else if (session.goesOn) reports.addLater(reporter)
      else reports.add(reporter)
      writer.notify()
    })
    this.#call.once('end', () => this.#end({ code: status.OK, details: '' }, false))
  }

  async #followPolicy(session: ProxySession<Request>, writer: ResponseWriter): Promise<void> {
    const { catalog, certificates, logger } = this.#ports
    const { signal } = this.#over
    const stop = new AbortController()
    const credentials = new CredentialFollower({
      proxy: session.proxy,
      certificates,
      logger,
      onCredential: (ref, credential) => {
        session.setCredential(ref, credential)
        writer.notify()
      },
      // The watch of policies ends with the stream.
      signal: stop.signal,
    })
    try {
      await this.#applyPolicies(session, writer, catalog.policies.watch(session.proxy, signal), credentials)
    } finally {
      stop.abort()
      await credentials.finished()
    }
  }

  async #applyPolicies(
    session: ProxySession<Request>,
    writer: ResponseWriter,
    updates: AsyncIterable<PolicyUpdate>,
    credentials: CredentialFollower,
  ): Promise<void> {
    for await (const update of updates) {
      // The host must know what the proxy has applied of the policy before: it closes a port whose next rules are refused if that had let in more.
      if (this.#reporter !== undefined) this.#ports.reports.flush(this.#reporter)
      const failure = await session.applyPolicy(update)
      if (!this.#over.signal.aborted) this.#subscribe(session.resources?.endpoints)
      // An update may have come before the stream could hear of it.
      session.catchUpEndpoints()
      credentials.follow(session.resources?.credentials ?? [])
      if (failure !== undefined) await this.#tell(failure)
      this.#isNews = true
      writer.notifyNews()
    }
    throw new StreamRefusal(status.UNAVAILABLE, 'there is no more policy for this proxy here')
  }

  /** Hears of those endpoints from now on. */
  #subscribe(endpoints: LiveEndpoints | undefined): void {
    const { endpointUpdates } = this.#ports
    const before = this.#endpoints
    if (before === endpoints || this.#subscriber === undefined) return
    if (before !== undefined) endpointUpdates.unsubscribe(before, this.#subscriber)
    if (endpoints !== undefined) endpointUpdates.subscribe(endpoints, this.#subscriber)
    this.#endpoints = endpoints
  }

  async #followIdentity(identity: IdentityFollower): Promise<void> {
    await identity.run().catch((error: unknown) => {
      if (!isOsmError(error, 'OSM_PROXY_KEY')) throw error
      this.#ports.logger.warn({ code: error.code, error: error.message }, 'proxy is not accepted')
      throw refusalOf(error)
    })
    throw new StreamRefusal(status.UNAVAILABLE, 'there is no more certificate for this proxy here')
  }

  #report(session: ProxySession<Request>): void {
    if (this.#over.signal.aborted) return
    if (this.#telling !== undefined) {
      this.#mustReport = true
      return
    }
    const report = session.report()
    if (report?.complete === true) this.#ports.connections.arrived(this.#peer)
    if (report === undefined) return
    // Reports of a stream reach the host in their order.
    this.#telling = this.#ports.proxies.report(this.#work.on(report)).then(this.#told, this.#notTold)
  }

  #reportSoon(): void {
    if (this.#reporter !== undefined && !this.#over.signal.aborted) this.#ports.reports.add(this.#reporter)
  }

  async #tell(report: ApplyReport): Promise<void> {
    await this.#ports.proxies.report(this.#work.on(report)).catch((error: unknown) => this.#logNotTold(error))
  }

  #logNotTold(error: unknown): void {
    this.#ports.logger.error({ error: String(error) }, 'host was not told of a state')
  }

  /** Nothing is due at the moment. */
  #rest(session: ProxySession<Request>, writer: ResponseWriter, sent: boolean): void {
    this.#sendLater(session, writer)
    if (this.#reporter !== undefined && !session.awaitsAnswer) this.#ports.reports.addIfLater(this.#reporter)
    const isNews = this.#isNews
    this.#isNews = false
    const isRequested = this.#isRequested && !session.awaitsAnswer
    this.#isRequested = false
    // What was sent will be answered, and the answer has more to tell. Until then the host takes what is new for neither applied nor refused.
    if (isRequested || (isNews && (!sent || session.reportIsUrgent))) this.#reportSoon()
  }

  #sendLater(session: ProxySession<Request>, writer: ResponseWriter): void {
    const delayMs = session.nextInMs
    if (delayMs === undefined && this.#later === undefined) return
    clearTimeout(this.#later)
    this.#later = delayMs === undefined ? undefined : setTimeout(() => writer.notify(), delayMs)
  }

  /** Undefined if that ends the stream. */
  #attempt<T>(proxy: ProxyRef, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#fail(proxy, error)
      return undefined
    }
  }

  async #supervise(proxy: ProxyRef, task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      this.#fail(proxy, error)
    }
  }

  #fail(proxy: ProxyRef, error: unknown): void {
    if (this.#over.signal.aborted) return
    if (error instanceof StreamRefusal) {
      this.#end(error.end, false)
      return
    }
    this.#ports.logger.error({ proxy: proxy.uuid, error: String(error) }, 'stream ends by a fault of the xDS server')
    this.#end({ code: status.INTERNAL, details: 'the control plane failed' }, false)
  }

  #evict(reason: Eviction['reason']): void {
    const { cut, ...end } = endOfEviction(reason)
    this.#end(end, cut)
  }

  /** @param cut - the connection goes too, as soon as the status had time to leave */
  #end({ code, details }: StreamEnd, cut: boolean): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    if (code === status.OK) this.#call.end()
    else this.#call.emit('error', { code, details })
    if (cut) this.#ports.connections.condemn(this.#peer, limits.closeGraceMs)
  }
}
