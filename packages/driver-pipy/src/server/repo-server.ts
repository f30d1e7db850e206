import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'

import { type ControllerContext, OsmError } from '@osm-ts/driver-api'
import { type ConnectionGuard, guardServer, listenBacklog, PartStore, WorkTurns } from '@osm-ts/driver-api/toolkit'
import { fastify, type FastifyInstance } from 'fastify'

import { answerClientError } from './answer-client-error.js'
import type { Codebase } from '../codebase/codebase.js'
import type { DocumentMaker } from '../document.js'
import { AdminLinks } from './admin-links.js'
import { limits, type Timing } from './limits.js'
import { RefusedPeers } from './refused-peers.js'
import { RepoMetrics } from './repo-metrics.js'
import { Requests } from './requests.js'
import { type ServerTrust, tlsSettings } from './tls-settings.js'
import { WorkerAuthority } from './worker-authority.js'
import { WorkerSessions } from './worker-sessions.js'

/** What the server uses of the controller's context. */
export type RepoServerContext = Pick<
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
export interface RepoServerPorts {
  readonly codebase: Codebase
  readonly make: DocumentMaker
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** 0 to 1. */
  readonly random?: () => number
  readonly timing?: Timing
}

/** The repo server of one controller replica: scripts, configuration and certificates for workers, over mutual TLS. */
export class RepoServer {
  readonly sessions: WorkerSessions
  readonly #context: RepoServerContext
  readonly #requests: Requests
  readonly #links: AdminLinks
  readonly #metrics: RepoMetrics
  readonly #refused: RefusedPeers
  readonly #stop = new AbortController()
  readonly #timing: Timing
  #codebase: Codebase
  #app: FastifyInstance<Server> | undefined
  #guard: ConnectionGuard | undefined
  #trust: ServerTrust | undefined
  #sweeper: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(context: RepoServerContext, ports: RepoServerPorts) {
    const { codebase, make, now = () => Date.now(), random = () => Math.random(), timing = limits } = ports
    const { proxies, meshCatalog, certManager, logger } = context
    this.#context = context
    this.#timing = timing
    this.#codebase = codebase
    this.#metrics = new RepoMetrics(context.metrics)
    this.#refused = new RefusedPeers(proxies, logger, now)
    this.sessions = new WorkerSessions({
      proxies,
      policies: meshCatalog.policies,
      certificates: certManager,
      parts: new PartStore(meshCatalog.parts),
      make,
      turns: new WorkTurns(limits.turnMs),
      codebase: () => this.#codebase,
      metrics: this.#metrics,
      logger,
      now,
    })
    const authority = new WorkerAuthority(this.sessions, now)
    this.#requests = new Requests({
      authority,
      codebase: () => this.#codebase,
      metrics: this.#metrics,
      refused: this.#refused,
      now,
      random,
      pollTimeoutMs: timing.pollTimeoutMs,
    })
    this.#links = new AdminLinks(authority, this.#metrics, this.#refused)
  }

  /** The port that it listens on. */
  get port(): number {
    return (this.#app?.server.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  get listening(): boolean {
    return this.#app?.server.listening === true
  }

  /** Open connections, no matter who they come from. */
  get connections(): number {
    return this.#guard?.size ?? 0
  }

  /** The scripts in force. */
  get codebase(): Codebase {
    return this.#codebase
  }

  /** Puts other scripts in force. Downloads that are under way end with those that they began with. */
  replaceCodebase(codebase: Codebase): void {
    this.#codebase = codebase
    for (const session of this.sessions) session.reload()
  }

  /**
   * Starts to listen once there is a certificate.
   *
   * @throws OsmError with code `OSM_DRIVER_START`
   */
  async start(): Promise<void> {
    const { proxyServerAddress: host, proxyServerPort: port, proxyServiceCert, proxies, logger, signal } = this.#context
    const trusts = proxyServiceCert.watch(signal)[Symbol.asyncIterator]()
    const first = await trusts.next()
    if (first.done === true) throw new OsmError('OSM_DRIVER_START', 'there is no certificate for the repo server')
    this.#trust = first.value
    try {
      this.#app = this.#makeApp(first.value)
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', 'the certificate of the repo server cannot be used', { cause })
    }
    try {
      await this.#app.listen({ host, port, backlog: listenBacklog })
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', `the repo server cannot listen on ${host}:${port}`, { cause })
    }
    this.#run('certificate', this.#followCredential(trusts))
    this.#run('evictions', this.sessions.followEvictions(proxies, logger, signal))
    this.#sweeper = setInterval(() => this.sessions.sweep(), this.#timing.sweepMs)
    signal.addEventListener('abort', () => void this.close(), { once: true })
    if (signal.aborted) await this.close()
    logger.info({ address: host, port: this.port, codebase: this.#codebase.etag }, 'repo server listens')
  }

  /** Answers what waits, and stops. */
  async close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#sweeper)
    this.#guard?.stop()
    const closing = this.#app?.close()
    await this.sessions.close()
    const cut = setTimeout(() => this.#guard?.destroy(), limits.closeGraceMs)
    await closing
    clearTimeout(cut)
    this.#guard?.destroy()
  }

  #makeApp(trust: ServerTrust): FastifyInstance<Server> {
    const app = fastify({
      https: {
        ...tlsSettings(trust),
        requestCert: true,
        rejectUnauthorized: true,
        maxHeaderSize: limits.maxHeaderBytes,
        headersTimeout: limits.requestTimeoutMs,
        connectionsCheckingInterval: limits.sweepMs,
        noDelay: true,
        keepAlive: true,
      },
      logger: false,
      bodyLimit: limits.maxBodyBytes,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      return503OnClosing: false,
      clientErrorHandler: answerClientError,
      exposeHeadRoutes: false,
    })
    const { metrics, logger } = this.#context
    this.#guard = guardServer(app.server, { server: 'pipy repo', limits: limits.connections, metrics, logger })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.route({
      method: ['GET', 'HEAD', 'POST'],
      url: '/*',
      handler: async (request, reply) => this.#requests.answer(request, reply),
    })
    app.setNotFoundHandler(async (_request, reply) => reply.code(405).header('allow', 'GET, HEAD').send())
    app.setErrorHandler(async (error: Error & { readonly statusCode?: number }, request, reply) => {
      const status = error.statusCode ?? 500
      if (status >= 500)
        this.#context.logger.error(
          { url: request.raw.url?.split('?')[0], error: String(error) },
          'a request was not answered',
        )
      return reply
        .code(status)
        .type('text/plain')
        .send(status < 500 ? 'bad request\n' : 'internal error\n')
    })
    // A reader that takes nothing must not hold what it was sent forever.
    app.addHook('onSend', async (request, reply) => {
      if (request.raw.socket.destroyed) return
      const timer = setTimeout(() => request.raw.socket.destroy(), this.#timing.writeTimeoutMs)
      reply.raw.once('close', () => clearTimeout(timer))
    })
    app.addHook('onResponse', async (request, reply) => {
      this.#metrics.requested(this.#requests.kindOf(request), reply.statusCode)
    })
    app.server.on('upgrade', (request, socket, head) => void this.#links.upgrade(request, socket, head))
    app.server.on('tlsClientError', (error, socket) => {
      this.#metrics.requested('other', 0)
      this.#refused.shake(error, socket)
    })
    return app
  }

  async #followCredential(trusts: AsyncIterator<ServerTrust>): Promise<void> {
    const { logger } = this.#context
    for (let step = await trusts.next(); step.done !== true; step = await trusts.next()) {
      const { credential, clientRoots } = step.value
      try {
        this.#app?.server.setSecureContext(tlsSettings(step.value))
      } catch (error) {
        logger.error(
          { code: 'OSM_PIPY_TRUST', serialNumber: credential.serialNumber, error: String(error) },
          'certificate of the repo server cannot be used, the one before stays',
        )
        continue
      }
      logger.info(
        { serialNumber: credential.serialNumber, expiry: credential.expiry },
        'repo server has a new certificate',
      )
      const withdrawn = this.#trust?.clientRoots.certificates.some((root) => !clientRoots.certificates.includes(root))
      this.#trust = step.value
      if (withdrawn === true) this.sessions.reauthenticate(limits.reauthenticateSpreadMs)
    }
  }

  /** A follower that ends while the server runs would leave it with what it knows forever: better to end the driver. */
  #run(what: string, task: Promise<void>): void {
    const stop = (cause?: unknown) => {
      if (this.#stop.signal.aborted) return
      this.#context.cancel(
        new OsmError('OSM_DRIVER_START', `the repo server cannot follow ${what} any more`, { cause }),
      )
    }
    void task.then(() => stop(), stop)
  }
}
