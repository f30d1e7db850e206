import { createServer } from 'node:https'

import { OsmError } from '@osm-ts/driver-api'

/**
 * The proxy control plane: HTTPS that only proxies of the mesh can reach. `GET /policy` answers with the policy in force and its parts as JSON. Replace it by what
 * your proxy speaks; what must stay is how peers are authenticated, and that the signal closes everything.
 */
export class PolicyServer {
  #context
  #server
  #sockets = new Set()

  /** @param {import('@osm-ts/driver-api').ControllerContext} context */
  constructor(context) {
    this.#context = context
  }

  get listening() {
    return this.#server?.listening === true
  }

  get port() {
    return this.#server?.address()?.port ?? 0
  }

  async start() {
    const { proxyServerAddress: host, proxyServerPort: port, proxyServiceCert, signal, cancel } = this.#context
    const trusts = proxyServiceCert.watch(signal)[Symbol.asyncIterator]()
    const first = await trusts.next()
    if (first.done) throw new OsmError('OSM_DRIVER_START', 'the host stopped before there was a certificate')
    try {
      const listener = (request, response) => void this.#answer(request, response)
      this.#server = createServer({ ...tls(first.value), requestCert: true, rejectUnauthorized: true }, listener)
    } catch (cause) {
      throw new OsmError('OSM_DRIVER_START', 'the control-plane certificate cannot be used', { cause })
    }
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    await new Promise((resolve, reject) => {
      const refuse = (cause) =>
        reject(new OsmError('OSM_DRIVER_START', `the policy server cannot listen on ${host}:${port}`, { cause }))
      this.#server.once('error', refuse).listen(port, host, resolve)
    })
    // Certificates are short-lived: new connections get each that replaces the one before.
    const follow = async () => {
      for (let next = await trusts.next(); !next.done; next = await trusts.next())
        this.#server.setSecureContext(tls(next.value))
    }
    follow().catch(cancel)
  }

  /** Resolves when the port and every connection are closed. */
  async close() {
    const server = this.#server
    if (server?.listening !== true) return
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async #answer(request, response) {
    const { proxies, meshCatalog, logger } = this.#context
    const done = new AbortController()
    let session
    try {
      if (request.method !== 'GET' || request.url !== '/policy') return void response.writeHead(404).end()
      // Nothing else says who the peer is: no header, no path.
      const proxy = await proxies.authenticate(request.socket.getPeerCertificate().raw)
      session = proxy.session
      response.once('close', () => done.abort())
      for await (const { revision, proxy: own, added } of meshCatalog.policies.watch(proxy, done.signal)) {
        const parts = await Promise.all(added.map(({ hash }) => meshCatalog.parts.get(hash)))
        response.writeHead(200, { 'content-type': 'application/json' })
        return void response.end(JSON.stringify({ revision, proxy: own, parts }))
      }
    } catch (error) {
      logger.warn({ code: error.code ?? 'unknown' }, 'a proxy was refused')
      if (!response.headersSent) response.writeHead(403).end()
    } finally {
      done.abort()
      if (session !== undefined) await proxies.disconnected(session)
    }
  }
}

function tls({ credential, clientRoots }) {
  return {
    cert: credential.chain,
    key: credential.privateKey,
    ca: [...clientRoots.certificates],
    minVersion: 'TLSv1.2',
  }
}
