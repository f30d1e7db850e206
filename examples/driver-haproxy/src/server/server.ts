import { constants } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'

import { type ControllerContext, type Credential, OsmError, type TrustBundle } from '@osm-ts/driver-api'
import { PartStore, WorkTurns } from '@osm-ts/driver-api/toolkit'

import { limits } from './limits.js'
import type { Poll } from './session.js'
import { Sessions } from './sessions.js'

interface ServerTrust {
  readonly credential: Credential
  readonly clientRoots: TrustBundle
}

interface Answer {
  readonly status: number
  readonly body: string
}

const PATH = '/v1/document'
const REVISION = /^[A-Za-z0-9_-]{0,64}$/

/** The proxy control plane of one controller: sidecars poll it over mutual TLS. */
export class HaproxyServer {
  readonly sessions: Sessions
  readonly #context: ControllerContext
  readonly #stop = new AbortController()
  #server: Server | undefined
  #roots: readonly string[] = []
  #sweeper: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined

  constructor(context: ControllerContext) {
    const { proxies, meshCatalog, certManager, logger } = context
    this.#context = context
    this.sessions = new Sessions({
      proxies,
      policies: meshCatalog.policies,
      certificates: certManager,
      parts: new PartStore(meshCatalog.parts),
      turns: new WorkTurns(limits.turnMs),
      logger,
      now: () => performance.now(),
    })
  }

  /** The port that it listens on. */
  get port(): number {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  get listening(): boolean {
    return this.#server?.listening === true
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
    if (first.done === true)
      throw new OsmError('OSM_DRIVER_START', 'there is no certificate for the server of class haproxy')
    try {
      this.#server = this.#make(first.value)
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', 'the certificate for the server of class haproxy cannot be used', {
        cause,
      })
    }
    await this.#listen(this.#server, host, port)
    this.#run('certificate', this.#followCredential(trusts))
    this.#run('evictions', this.sessions.followEvictions(proxies, signal))
    this.#sweeper = setInterval(() => this.sessions.sweep(), limits.sweepMs)
    signal.addEventListener('abort', () => void this.close(), { once: true })
    if (signal.aborted) await this.close()
    logger.info({ address: host, port: this.port }, 'server of class haproxy listens')
  }

  /** Answers what waits, and stops. */
  async close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stop.abort()
    clearInterval(this.#sweeper)
    await this.sessions.close()
    const server = this.#server
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    const cut = setTimeout(() => server.closeAllConnections(), limits.closeGraceMs)
    await closed
    clearTimeout(cut)
  }

  #make(trust: ServerTrust): Server {
    this.#roots = trust.clientRoots.certificates
    const server = createServer(
      {
        ...tlsSettings(trust),
        requestCert: true,
        rejectUnauthorized: true,
        handshakeTimeout: limits.handshakeTimeoutMs,
        maxHeaderSize: limits.maxHeaderBytes,
        headersTimeout: limits.requestTimeoutMs,
        requestTimeout: limits.requestTimeoutMs,
        noDelay: true,
      },
      (request, response) => void this.#answer(request, response),
    )
    server.maxConnections = limits.maxConnections
    // Each way to shake hands wrongly is the peer's own.
    server.on('tlsClientError', () => undefined)
    return server
  }

  async #listen(server: Server, host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const refuse = (cause: Error) =>
        reject(
          new OsmError('OSM_DRIVER_START', `the server of class haproxy cannot listen on ${host}:${port}`, { cause }),
        )
      server.once('error', refuse)
      server.listen({ host, port }, () => {
        server.off('error', refuse)
        resolve()
      })
    })
  }

  /** Never rejects: a fault of one request is no other's. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A connection proves who it is once; the next poll proves it again.
    response.setHeader('connection', 'close')
    response.setHeader('cache-control', 'no-store')
    const timer = setTimeout(() => response.destroy(), limits.pollTimeoutMs + limits.writeTimeoutMs)
    response.once('close', () => clearTimeout(timer))
    try {
      request.resume()
      const { status, body } = await this.#read(request, response)
      if (status === 200) response.setHeader('content-type', 'application/json')
      send(response, status, body)
    } catch (error) {
      this.#context.logger.error({ error: String(error) }, 'a poll was not answered')
      send(response, 500, 'internal error\n')
    }
  }

  async #read(request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    const poll = readPoll(request)
    if (poll === undefined) return { status: 400, body: 'that is not a poll\n' }
    // The server speaks TLS only; a connection that is gone shows no certificate.
    const peer = (request.socket as TLSSocket).getPeerX509Certificate()
    const session = peer === undefined ? undefined : await this.sessions.of(peer.raw, poll.hasKey)
    if (session === undefined) return { status: 403, body: 'the certificate is not accepted\n' }
    const body = await session.poll(poll, this.#pollEnd(response))
    return body === undefined ? { status: 204, body: '' } : { status: 200, body }
  }

  #pollEnd(response: ServerResponse): AbortSignal {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    return AbortSignal.any([gone.signal, this.#stop.signal, AbortSignal.timeout(limits.pollTimeoutMs)])
  }

  async #followCredential(trusts: AsyncIterator<ServerTrust>): Promise<void> {
    const { logger } = this.#context
    for (let step = await trusts.next(); step.done !== true; step = await trusts.next()) {
      try {
        this.#server?.setSecureContext(tlsSettings(step.value))
      } catch (error) {
        logger.error({ error: String(error) }, 'certificate of the server cannot be used, the one before stays')
        continue
      }
      const { certificates } = step.value.clientRoots
      const withdrawn = this.#roots.some((root) => !certificates.includes(root))
      this.#roots = certificates
      if (withdrawn) this.sessions.reauthenticate()
    }
  }

  /** A follower that ends while the server runs would leave it with what it knows forever: better to end the driver. */
  #run(what: string, task: Promise<void>): void {
    const stop = (cause?: unknown) => {
      if (this.#stop.signal.aborted || this.#context.signal.aborted) return
      this.#context.cancel(
        new OsmError('OSM_DRIVER_START', `the server of class haproxy cannot follow ${what} any more`, { cause }),
      )
    }
    void task.then(() => stop(), stop)
  }
}

/** Roots are named each time, and no session of TLS is resumed: every connection proves who it is by the roots of its moment. */
function tlsSettings({ credential, clientRoots }: ServerTrust): SecureContextOptions {
  return {
    cert: credential.chain,
    key: credential.privateKey,
    ca: [...clientRoots.certificates],
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_TICKET,
  }
}

function readPoll({ method, url = '' }: IncomingMessage): Poll | undefined {
  const [path, query = ''] = url.split('?', 2)
  if (method !== 'GET' || path !== PATH) return undefined
  const said = new URLSearchParams(query)
  const has = said.get('has') ?? ''
  const revision = said.get('refused')
  if (!REVISION.test(has) || (revision !== null && !REVISION.test(revision))) return undefined
  const words = said.get('words') ?? ''
  return { has, hasKey: said.get('key') === 'proxy', ...(revision !== null && { refused: { revision, words } }) }
}

function send(response: ServerResponse, status: number, body: string): void {
  if (response.destroyed) return
  response.writeHead(status)
  response.end(body)
}
