import { randomBytes } from 'node:crypto'

import { Server, type ServerDuplexStream } from '@grpc/grpc-js'
import { type ControllerContext, OsmError, type RotatingCredential } from '@osm-ts/driver-api'
import { PartStore, WorkTurns } from '@osm-ts/driver-api/toolkit'

import { EndpointUpdates } from './policies/endpoint-updates.js'
import { limits } from './limits.js'
import { PreparedResponses } from './responses/prepared-responses.js'
import { type AnyRequest, deltaProtocol, type Protocol, stateOfTheWorldProtocol } from './state/protocols.js'
import { ProxyConnections } from './proxy-connections.js'
import type { StreamScope } from './proxy-session.js'
import {
  createRotatingServerCredentials,
  type RotatingServerCredentials,
  type ServerTrust,
} from './credentials/rotating-credentials.js'
import { aggregatedDiscovery, endpointDiscovery, type OutgoingResponse } from './responses/service-definitions.js'
import { StreamRegistry } from './stream-registry.js'
import type { RefusalTracer, ResourceDiffer, ResourceTranslator } from './policies/translator-port.js'
import { TrustRoots } from './credentials/trust-roots.js'
import { ReportQueue } from './policies/report-queue.js'
import { WriteQueue } from './responses/write-queue.js'
import { WriteWatch } from './responses/write-watch.js'
import { XdsMetrics } from './xds-metrics.js'
import { type StreamPorts, XdsStream } from './xds-stream.js'
import { pushOrder } from './xds-types.js'

/** What the server uses of the controller's context. */
export type XdsServerContext = Pick<
  ControllerContext,
  | 'proxyServerAddress'
  | 'proxyServerPort'
  | 'proxyServiceCert'
  | 'meshCatalog'
  | 'certManager'
  | 'proxies'
  | 'metrics'
  | 'logger'
  | 'cancel'
  | 'signal'
>

/** What the server is made with besides. */
export interface XdsServerPorts {
  readonly translator: ResourceTranslator
  readonly diff: ResourceDiffer
  readonly trace: RefusalTracer
  readonly times: ConnectionTimes
}

/** How long connections last, in milliseconds: what of a driver's configuration concerns its server. */
export interface ConnectionTimes {
  /** Age at which a proxy is asked to return, so that load spreads over replicas; grpc-js spreads it by ±10%. */
  readonly ageMs: number
  /** From then until the connection is closed. */
  readonly graceMs: number
  /** Silence after which a proxy is asked whether it is there. */
  readonly keepaliveMs: number
  /** For which a proxy drains the connections of a filter chain that is gone. */
  readonly drainMs: number
}

const aggregated: StreamScope = { types: pushOrder, wildcardTypes: ['cluster', 'listener'] }
const endpointsOnly: StreamScope = { types: ['endpoints'], wildcardTypes: ['endpoints'] }

/** The xDS server of one controller replica. */
export class XdsServer {
  readonly streams = new StreamRegistry()
  readonly #context: XdsServerContext
  readonly #grpc: Server
  readonly #connections: ProxyConnections
  readonly #credentials: RotatingServerCredentials
  readonly #ports: StreamPorts
  readonly #endpointUpdates: EndpointUpdates
  readonly #serving = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #port = 0

  /** @throws OsmError with code `OSM_DRIVER_START` */
  constructor(context: XdsServerContext, { translator, diff, trace, times }: XdsServerPorts) {
    this.#context = context
    this.#grpc = new Server({
      'grpc.max_concurrent_streams': limits.maxConcurrentStreams,
      'grpc.max_receive_message_length': limits.maxRequestBytes,
      // Bounded by what translation makes; a proxy without its configuration is worse than a large message.
      'grpc.max_send_message_length': -1,
      'grpc.keepalive_time_ms': times.keepaliveMs,
      'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
      'grpc.max_connection_age_ms': times.ageMs,
      'grpc.max_connection_age_grace_ms': times.graceMs,
      'grpc.max_connection_idle_ms': limits.maxConnectionIdleMs,
      'grpc-node.max_session_memory': limits.maxSessionMemoryMb,
      'grpc.enable_channelz': 0,
    })
    this.#credentials = createRotatingServerCredentials()
    const injector = this.#grpc.createConnectionInjector(this.#credentials.credentials)
    this.#connections = new ProxyConnections({
      inject: (socket) => injector.injectConnection(socket),
      limits: limits.connections,
      maxArrivals: limits.maxArrivals,
      arrivalTurnMs: limits.arrivalTurnMs,
      metrics: context.metrics,
      logger: context.logger,
    })
    const turns = new WorkTurns(limits.turnMs)
    const parts = new PartStore(context.meshCatalog.parts)
    const { endpoints } = context.meshCatalog
    this.#endpointUpdates = new EndpointUpdates({ endpoints, parts, translator, turnMs: limits.turnMs })
    this.#ports = {
      proxies: context.proxies,
      authentications: new WorkTurns(limits.turnMs),
      catalog: context.meshCatalog,
      certificates: context.certManager,
      parts,
      endpointUpdates: this.#endpointUpdates,
      translator,
      turns,
      roots: new TrustRoots(turns),
      diff,
      trace,
      prepared: new PreparedResponses(),
      writeQueue: new WriteQueue({
        maxInFlight: limits.maxWritesInFlight,
        smallBytes: limits.smallWriteBytes,
        turnMs: limits.turnMs,
      }),
      reports: new ReportQueue(limits),
      writes: new WriteWatch(limits),
      streams: this.streams,
      connections: this.#connections,
      metrics: new XdsMetrics(context.metrics),
      logger: context.logger,
      now: () => Date.now(),
      drainMs: times.drainMs,
      randomTag: () => randomBytes(6).toString('base64url'),
    }
    this.#grpc.addService(aggregatedDiscovery, {
      StreamAggregatedResources: this.#handler(stateOfTheWorldProtocol, aggregated),
      DeltaAggregatedResources: this.#handler(deltaProtocol, aggregated),
    })
    this.#grpc.addService(endpointDiscovery, {
      StreamEndpoints: this.#handler(stateOfTheWorldProtocol, endpointsOnly),
      DeltaEndpoints: this.#handler(deltaProtocol, endpointsOnly),
    })
  }

  /** The port that it listens on. */
  get port(): number {
    return this.#port
  }

  get listening(): boolean {
    return this.#connections.listening
  }

  /** Open connections, whether or not they have shown who they are. */
  get connections(): number {
    return this.#connections.size
  }

  /**
   * Starts to listen once there is a certificate.
   *
   * @throws OsmError with code `OSM_DRIVER_START`
   */
  async start(): Promise<void> {
    const { proxyServerAddress, proxyServerPort, proxyServiceCert, certManager, proxies, logger, signal } =
      this.#context
    await this.#followCredential(proxyServiceCert, signal)
    this.#port = await this.#connections.listen(proxyServerAddress, proxyServerPort)
    if (this.#context.meshCatalog.endpoints !== undefined) this.#run('endpoints', this.#endpointUpdates.follow(signal))
    this.#run('trust bundles', this.#ports.roots.follow(certManager, signal))
    this.#run('evictions', this.streams.followEvictions(proxies, logger, signal))
    this.#context.signal.addEventListener('abort', () => void this.close(), { once: true })
    if (this.#context.signal.aborted) await this.close()
    logger.info({ address: proxyServerAddress, port: this.#port }, 'xDS server listens')
  }

  /** Ends every stream and stops listening. */
  async close(): Promise<void> {
    this.#stop.abort()
    for (const stream of [...this.streams]) stream.evict('shutdown')
    await this.#connections.close()
    this.#grpc.forceShutdown()
    await Promise.all(this.#serving)
  }

  #handler<Request extends AnyRequest>(protocol: Protocol<Request>, scope: StreamScope) {
    return (call: ServerDuplexStream<Request, OutgoingResponse>): void => {
      const serving = new XdsStream(call, protocol, scope, this.#ports).serve()
      this.#serving.add(serving)
      void serving.finally(() => this.#serving.delete(serving))
    }
  }

  /** Resolves when the first credential is in use; later ones are followed until the signal aborts. */
  async #followCredential(source: RotatingCredential, signal: AbortSignal): Promise<void> {
    const trusts = source.watch(signal)[Symbol.asyncIterator]()
    const first = await trusts.next()
    if (first.done === true) throw new OsmError('OSM_DRIVER_START', 'there is no certificate for the xDS server')
    try {
      this.#credentials.replace(first.value)
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', 'the certificate of the xDS server cannot be used', { cause })
    }
    this.#run('certificate', this.#followLater(trusts, first.value))
  }

  async #followLater(trusts: AsyncIterator<ServerTrust>, first: ServerTrust): Promise<void> {
    const { logger } = this.#context
    let roots = first.clientRoots.certificates
    for (let step = await trusts.next(); step.done !== true; step = await trusts.next()) {
      const { credential, clientRoots } = step.value
      try {
        this.#credentials.replace(step.value)
      } catch (error) {
        logger.error(
          { code: 'OSM_ENVOY_TRUST', serialNumber: credential.serialNumber, error: String(error) },
          'certificate of the xDS server cannot be used, the one before stays',
        )
        continue
      }
      logger.info(
        { serialNumber: credential.serialNumber, expiry: credential.expiry },
        'xDS server has a new certificate',
      )
      const withdrawn = roots.some((root) => !clientRoots.certificates.includes(root))
      roots = clientRoots.certificates
      if (withdrawn) this.streams.reauthenticate(limits.reauthenticateSpreadMs)
    }
  }

  /** A follower that ends while the server runs would leave it with what it knows forever: better to end the driver. */
  #run(what: string, task: Promise<void>): void {
    const stop = (cause?: unknown) => {
      if (this.#stop.signal.aborted) return
      this.#context.cancel(new OsmError('OSM_DRIVER_START', `the xDS server cannot follow ${what} any more`, { cause }))
    }
    void task.then(() => stop(), stop)
  }
}
