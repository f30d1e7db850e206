import { setImmediate as nextTurn } from 'node:timers/promises'

import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import type {
  ApplyReport,
  DriverCertificates,
  Eviction,
  Logger,
  PolicySource,
  Proxies,
  ProxyRef,
} from '@osm-ts/driver-api'
import type { PolicyUpdate } from '@osm-ts/driver-api/policy'
import { CredentialFollower, Wake, WorkTally, type WorkTurns } from '@osm-ts/driver-api/toolkit'

import type { EndpointsSubscriber, EndpointUpdates } from './endpoint-updates.js'
import { limits } from './limits.js'
import type { LiveEndpoints } from '../resources/types.js'
import { PolicyFollower, type PolicyFollowerPorts } from './policy-follower.js'
import type { PreparedResponses } from './prepared-responses.js'
import type { AnyRequest, Protocol } from './protocols.js'
import type { ProxyConnections } from './proxy-connections.js'
import { ProxySession, type StreamScope } from './proxy-session.js'
import type { WriteSemaphore } from './write-semaphore.js'
import type { OutgoingResponse } from './service-definitions.js'
import type { StreamRegistry } from './stream-registry.js'
import { endOfEviction, refusalOf, type StreamEnd, StreamRefusal } from './stream-refusal.js'
import type { RefusalTracer, ResourceDiffer } from './translator-port.js'
import type { TrustRoots } from './trust-roots.js'
import type { WriteWatch } from './write-watch.js'
import type { XdsMetrics } from './xds-metrics.js'

/** What all streams of a server share. */
export interface StreamPorts extends PolicyFollowerPorts {
  readonly proxies: Proxies
  /** When thousands come at once, finding out who they are must not keep those waiting who are known. */
  readonly authentications: WorkTurns
  readonly catalog: Pick<PolicySource, 'policies'>
  readonly certificates: Pick<DriverCertificates, 'identity' | 'credentials'>
  readonly roots: TrustRoots
  readonly diff: ResourceDiffer
  readonly trace: RefusalTracer
  readonly prepared: PreparedResponses
  readonly sendGate: WriteSemaphore
  readonly writes: WriteWatch
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
  readonly #sendable = new Wake()
  readonly #reportable = new Wake()
  readonly #work = new WorkTally()
  /** A policy was taken in of which the host has not been told yet. */
  #isNews = false
  /** Until something is due that only time makes so. */
  #later: NodeJS.Timeout | undefined
  /** What the stream hears of endpoints by. */
  #subscriber: EndpointsSubscriber | undefined
  #endpoints: LiveEndpoints | undefined
  /** Gives up the response that is on its way out. */
  #abandonWrite: (() => void) | undefined

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
    over.addEventListener('abort', () => this.#abandonWrite?.(), { once: true })
    // Streams that are reset as soon as they are opened are gone after this turn of the event loop, before they cost anything.
    await nextTurn()
    if (over.aborted) return
    const proxy = await this.#authenticate()
    if (proxy === undefined) return
    const { metrics, streams, proxies, logger } = this.#ports
    const follower = new PolicyFollower(this.#ports, this.#work)
    const session = this.#open(proxy, follower)
    const entry = { session, evict: (reason: Eviction['reason']) => this.#evict(reason) }
    streams.add(entry)
    metrics.connected()
    try {
      await Promise.all([
        this.#supervise(proxy, () => this.#followPolicy(session)),
        this.#supervise(proxy, () => this.#followIdentity(session)),
        this.#supervise(proxy, () => this.#send(session)),
        this.#supervise(proxy, () => this.#report(session)),
      ])
    } finally {
      this.#over.abort()
      clearTimeout(this.#later)
      streams.delete(entry)
      this.#subscribe(undefined)
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

  #open(proxy: ProxyRef, follower: PolicyFollower): ProxySession<Request> {
    const { metrics, logger, diff, trace, now, drainMs, randomTag, roots, endpointUpdates } = this.#ports
    const session = new ProxySession<Request>({
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
    })
    this.#subscriber = {
      renew: (endpoints, generation) => {
        session.renewEndpoints(endpoints, generation)
        if (session.mayBeDue) this.#sendable.notify()
        else this.#reportable.notify()
      },
      reached: () => this.#reportable.notify(),
    }
    roots.listen((resource) => {
      this.#attempt(proxy, () => session.setRoots(resource))
      this.#sendable.notify()
    }, this.#over.signal)
    this.#call.on('data', (request: Request) => {
      if (!this.#over.signal.aborted) this.#attempt(proxy, () => session.receive(request))
      this.#changed()
    })
    this.#call.once('end', () => this.#end({ code: status.OK, details: '' }, false))
    return session
  }

  async #followPolicy(session: ProxySession<Request>): Promise<void> {
    const { catalog, certificates, logger } = this.#ports
    const { signal } = this.#over
    const stop = new AbortController()
    const credentials = new CredentialFollower({
      proxy: session.proxy,
      certificates,
      logger,
      onCredential: (ref, credential) => {
        session.setCredential(ref, credential)
        this.#sendable.notify()
      },
      signal: AbortSignal.any([signal, stop.signal]),
    })
    try {
      await this.#applyPolicies(session, catalog.policies.watch(session.proxy, signal), credentials)
    } finally {
      stop.abort()
      await credentials.finished()
    }
  }

  async #applyPolicies(
    session: ProxySession<Request>,
    updates: AsyncIterable<PolicyUpdate>,
    credentials: CredentialFollower,
  ): Promise<void> {
    for await (const update of updates) {
      const failure = await session.applyPolicy(update)
      if (!this.#over.signal.aborted) this.#subscribe(session.resources?.endpoints)
      // An update may have come before the stream could hear of it.
      session.catchUpEndpoints()
      credentials.follow(session.resources?.credentials ?? [])
      if (failure !== undefined) await this.#tell(failure)
      this.#isNews = true
      this.#sendable.notify()
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

  async #followIdentity(session: ProxySession<Request>): Promise<void> {
    for await (const credential of this.#ports.certificates.identity(session.proxy, this.#over.signal)) {
      session.setCertificate(credential)
      this.#sendable.notify()
    }
    throw new StreamRefusal(status.UNAVAILABLE, 'there is no more certificate for this proxy here')
  }

  async #report(session: ProxySession<Request>): Promise<void> {
    while (await this.#reportable.wait(this.#over.signal)) {
      const report = session.report()
      if (report?.complete === true) this.#ports.connections.arrived(this.#peer)
      if (report !== undefined) await this.#tell(report)
    }
  }

  async #tell(report: ApplyReport): Promise<void> {
    await this.#ports.proxies
      .report(this.#work.on(report))
      .catch((error: unknown) => this.#ports.logger.error({ error: String(error) }, 'host was not told of a state'))
  }

  async #send(session: ProxySession<Request>): Promise<void> {
    while (await this.#sendable.wait(this.#over.signal)) {
      const isNews = this.#isNews
      this.#isNews = false
      let sent = false
      while (await this.#sendNext(session)) sent = true
      this.#sendLater(session.nextInMs)
      // What was sent will be answered, and the answer has more to tell. Until then the host takes what is new for neither applied nor refused.
      if (isNews && (!sent || session.reportIsUrgent)) this.#reportable.notify()
    }
  }

  #sendLater(delayMs: number | undefined): void {
    clearTimeout(this.#later)
    if (delayMs !== undefined && !this.#over.signal.aborted)
      this.#later = setTimeout(() => this.#sendable.notify(), delayMs)
  }

  /** @returns false if nothing is due */
  async #sendNext(session: ProxySession<Request>): Promise<boolean> {
    const { sendGate, prepared, metrics } = this.#ports
    if (!session.mayBeDue) return false
    const asked = performance.now()
    const release = sendGate.tryAcquire() ?? (await sendGate.acquire(this.#over.signal))
    if (release === undefined) return false
    const entered = performance.now()
    // Only now is it decided what is sent, so that a proxy that had to wait is sent the newest state.
    const push = session.next()
    if (push === undefined) {
      release()
      return false
    }
    try {
      const frame = prepared.frame(this.#protocol.variant, push)
      session.noteSent(push, frame.bytes.length)
      const encoded = performance.now()
      this.#work.queued(entered - asked)
      this.#work.encoded(encoded - entered)
      await this.#write({ frame, nonce: push.nonce }, release)
      this.#work.sent(performance.now() - encoded, frame.bytes.length)
      metrics.sent(push.type)
      return true
    } catch (error) {
      metrics.failed(push.type)
      throw error
    } finally {
      release()
    }
  }

  /**
   * Resolves when the response has left this process. There is never more than one on its way there.
   *
   * @param onSlow - called if that takes long
   */
  async #write(response: OutgoingResponse, onSlow: () => void): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error | null) => {
        watched.done()
        this.#abandonWrite = undefined
        if (error === undefined || error === null) resolve()
        else reject(error)
      }
      const watched = this.#ports.writes.begin(onSlow, () => {
        settle(new StreamRefusal(status.UNAVAILABLE, 'the proxy does not read'))
        this.#ports.connections.cut(this.#peer)
      })
      this.#abandonWrite = () => settle(new StreamRefusal(status.CANCELLED, 'the stream is over'))
      this.#call.write(response, settle)
    })
  }

  #changed(): void {
    this.#sendable.notify()
    this.#reportable.notify()
  }

  #attempt(proxy: ProxyRef, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(proxy, error)
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
