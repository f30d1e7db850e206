import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

import { type ControllerContext, isOsmError, OsmError, type RotatingCredential } from '@osm-ts/driver-api'

/** What `proxyServiceCert.watch` yields. */
type ServerTrust = ReturnType<RotatingCredential['watch']> extends AsyncIterable<infer T> ? T : never

/**
 * The proxy control plane: HTTPS that only proxies of the mesh can reach. `GET /policy` answers with the policy in force and its parts as JSON. Replace it
 * with the protocol of your proxy. Keep how peers are authenticated, and that the signal closes everything.
 */
export class PolicyServer {
  readonly #context: ControllerContext
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined

  constructor(context: ControllerContext) {
    this.#context = context
  }

  get listening(): boolean {
    return this.#server?.listening === true
  }

  get port(): number {
    // Of a server that listens on an address, not on a pipe.
    return (this.#server?.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  async start(): Promise<void> {
    const { proxyServerAddress: host, proxyServerPort: port, proxyServiceCert, signal, cancel } = this.#context
    const trusts = proxyServiceCert.watch(signal)[Symbol.asyncIterator]()
    const first = await trusts.next()
    if (first.done === true) throw new OsmError('OSM_DRIVER_START', 'the host stopped before there was a certificate')
    const server = this.#create(first.value)
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      const refuse = (cause: Error): void =>
        reject(new OsmError('OSM_DRIVER_START', `the policy server cannot listen on ${host}:${port}`, { cause }))
      server.once('error', refuse).listen(port, host, resolve)
    })
    // Certificates are short-lived: new connections get the latest one.
    const follow = async (): Promise<void> => {
      for (let next = await trusts.next(); next.done !== true; next = await trusts.next())
        server.setSecureContext(tlsOptions(next.value))
    }
    follow().catch(cancel)
  }

  /** Resolves when the port and every connection are closed. */
  async close(): Promise<void> {
    const server = this.#server
    if (server?.listening !== true) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #create(trust: ServerTrust): Server {
    try {
      const options = { ...tlsOptions(trust), requestCert: true, rejectUnauthorized: true }
      return createServer(options, (request, response) => void this.#answer(request, response)).on(
        'connection',
        (socket: Socket) => {
          this.#sockets.add(socket)
          socket.once('close', () => this.#sockets.delete(socket))
        },
      )
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', 'the control-plane certificate cannot be used', { cause })
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { proxies, meshCatalog, logger } = this.#context
    const done = new AbortController()
    let session: string | undefined
    try {
      if (request.method !== 'GET' || request.url !== '/policy') return void response.writeHead(404).end()
      // Only the certificate identifies the peer: no header, no path. An HTTPS server has TLS sockets.
      const proxy = await proxies.authenticate((request.socket as TLSSocket).getPeerCertificate().raw)
      session = proxy.session
      response.once('close', () => done.abort())
      for await (const { revision, proxy: own, added } of meshCatalog.policies.watch(proxy, done.signal)) {
        const parts = await Promise.all(added.map(({ hash }) => meshCatalog.parts.get(hash)))
        response.writeHead(200, { 'content-type': 'application/json' })
        return void response.end(JSON.stringify({ revision, proxy: own, parts }))
      }
    } catch (error) {
      logger.warn({ code: isOsmError(error) ? error.code : 'unknown' }, 'a proxy was refused')
      if (!response.headersSent) response.writeHead(403).end()
    } finally {
      done.abort()
      if (session !== undefined) await proxies.disconnected(session)
    }
  }
}

function tlsOptions({ credential, clientRoots }: ServerTrust) {
  return {
    cert: credential.chain,
    key: credential.privateKey,
    ca: [...clientRoots.certificates],
    minVersion: 'TLSv1.2' as const,
  }
}
