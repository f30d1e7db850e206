import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

import { type ServerOptions, WebSocketServer } from 'ws'

import { limits } from './limits.js'
import { addressOf, type RefusedPeers } from './refused-peers.js'
import type { RepoMetrics } from './repo-metrics.js'
import { readTarget } from './request-target.js'
import type { WorkerAuthority } from './worker-authority.js'
import type { AdminLink } from './session-ports.js'
import type { Refusal } from './worker-sessions.js'

/** Has a worker fetch its codebase and load it. */
const RELOAD = 'reload'
const NORMAL_CLOSURE = 1000
/** Longest wait for the end of a connection that was told to close, in milliseconds. */
const CLOSE_MS = 1_000

/** `closeTimeout` is missing in the types of the library. */
const serverOptions: ServerOptions & { readonly closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  maxPayload: limits.maxLinkFrameBytes,
  closeTimeout: CLOSE_MS,
}

/** Takes requests for a WebSocket: a worker opens one, on which it is told when to load its codebase again. */
export class AdminLinks {
  readonly #authority: WorkerAuthority
  readonly #metrics: RepoMetrics
  readonly #refused: RefusedPeers
  readonly #server = new WebSocketServer(serverOptions)

  constructor(authority: WorkerAuthority, metrics: RepoMetrics, refused: RefusedPeers) {
    this.#authority = authority
    this.#metrics = metrics
    this.#refused = refused
    this.#server.on('wsClientError', (_error, socket) => this.#answer(socket, 400))
  }

  /** Takes over a connection. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // An error is followed by a close, which is what counts.
    socket.on('error', () => undefined)
    const target = readTarget(request.url ?? '')
    if (target?.kind !== 'file') {
      this.#answer(socket, 400)
      return
    }
    const peer = request.socket as TLSSocket // the server speaks TLS only
    const session = await this.#authority.admit(peer, { codebase: target.codebase })
    if ('status' in session) {
      this.#refuse(socket, peer, session)
      return
    }
    // A worker names itself behind the slash, by a name that it was started with.
    const { uuid, commonName } = session.proxy
    if (target.path !== `/${uuid}`) {
      const reason = 'that is the admin link of another sidecar'
      this.#refuse(socket, peer, { status: 403, reason, code: 'OSM_PIPY_WORKER_REFUSED', commonName })
      return
    }
    if (socket.destroyed || session.ended !== undefined) {
      socket.destroy()
      return
    }
    this.#server.handleUpgrade(request, socket, head, (connection) => {
      this.#metrics.requested('link', 101)
      // What a worker says is not used; a worker that breaks the protocol, or sends too much, is cut off.
      connection.on('error', () => connection.terminate())
      const link: AdminLink = {
        reload: () => connection.send(RELOAD),
        close: () => {
          connection.close(NORMAL_CLOSURE)
          socket.end()
        },
      }
      session.addLink(link)
      socket.once('close', () => session.removeLink(link))
    })
  }

  #refuse(socket: Duplex, peer: TLSSocket, refusal: Refusal): void {
    this.#refused.note(addressOf(peer), refusal, refusal.commonName)
    this.#answer(socket, refusal.status)
  }

  #answer(socket: Duplex, status: number): void {
    this.#metrics.requested('link', status)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  }
}
