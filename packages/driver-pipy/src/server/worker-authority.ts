import type { TLSSocket } from 'node:tls'

import { codebaseName } from './request-target.js'
import { limits } from './limits.js'
import type { WorkerSession } from './worker-session.js'
import type { Refusal, WorkerSessions } from './worker-sessions.js'

/** The verified certificate of a connection. */
interface Peer {
  readonly certificate: Uint8Array
  /** Milliseconds since 1970. */
  readonly validTo: number
  /** Common name of the sidecar that it was made for, if it was made for one. */
  readonly commonName: string | undefined
}

/** What matters of a request for whose it is. */
interface RequestSubject {
  readonly codebase?: string
  readonly hasKey?: boolean
}

const FOREIGN: Refusal = {
  status: 403,
  reason: 'that is the codebase of another sidecar',
  code: 'OSM_PIPY_WORKER_REFUSED',
}
const EXPIRED: Refusal = { status: 403, reason: 'the certificate has expired', code: 'OSM_PIPY_CERTIFICATE_EXPIRED' }
const CROWDED: Refusal = { status: 503, reason: 'the worker has too many connections', code: 'OSM_PIPY_WORKER_REFUSED' }

/** Decides by the certificate of a connection, and by nothing else, whose requests come on it. */
export class WorkerAuthority {
  readonly #sessions: WorkerSessions
  readonly #now: () => number
  readonly #peers = new WeakMap<TLSSocket, Peer>()
  readonly #connections = new WeakMap<WorkerSession, Set<TLSSocket>>()

  /** @param now - milliseconds since 1970 */
  constructor(sessions: WorkerSessions, now: () => number) {
    this.#sessions = sessions
    this.#now = now
  }

  /**
   * The session that a request belongs to.
   *
   * @param about - name of the codebase that the request is about, if it is about one; for a poll, whether the worker can use the key of its certificate
   */
  async admit(socket: TLSSocket, about: RequestSubject = {}): Promise<WorkerSession | Refusal> {
    const admitted = await this.#admit(socket, about)
    const commonName = this.commonNameOf(socket)
    return 'status' in admitted && commonName !== undefined ? { ...admitted, commonName } : admitted
  }

  /** The sidecar that the certificate of a connection was made for, whether it still counts or not. */
  commonNameOf(socket: TLSSocket): string | undefined {
    return this.#peer(socket)?.commonName
  }

  async #admit(socket: TLSSocket, { codebase, hasKey }: RequestSubject): Promise<WorkerSession | Refusal> {
    const peer = this.#peer(socket)
    // The handshake looked at the time; connections live on.
    if (peer === undefined || this.#now() > peer.validTo) return EXPIRED
    const session = await this.#sessions.of(peer.certificate, hasKey)
    if ('status' in session) return session
    if (codebase !== undefined && codebase !== codebaseName(session.proxy)) return FOREIGN
    return this.#join(session, socket) ? session : CROWDED
  }

  #peer(socket: TLSSocket): Peer | undefined {
    const known = this.#peers.get(socket)
    if (known !== undefined) return known
    // A connection that has been closed meanwhile has none.
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return undefined
    const [, commonName] = /^CN=([0-9a-f-]{36}\.sidecar\..+)$/m.exec(certificate.subject) ?? []
    const peer: Peer = {
      certificate: certificate.raw,
      validTo: Date.parse(certificate.validTo),
      commonName, // the control plane has signed it in any case
    }
    this.#peers.set(socket, peer)
    return peer
  }

  /** @returns false if the worker has as many connections as it may have */
  #join(session: WorkerSession, socket: TLSSocket): boolean {
    const connections = this.#connections.get(session) ?? new Set()
    this.#connections.set(session, connections)
    if (connections.has(socket)) return true
    if (connections.size >= limits.maxConnectionsOfWorker) return false
    connections.add(socket)
    const leave = () => connections.delete(socket)
    const cut = () => this.#cut(session, socket)
    socket.once('close', () => {
      leave()
      session.signal.removeEventListener('abort', cut)
    })
    session.signal.addEventListener('abort', cut, { once: true })
    return true
  }

  /** A worker that is to prove again who it is, or may not return, loses its connections once its polls are answered. */
  #cut(session: WorkerSession, socket: TLSSocket): void {
    if (session.ended === 'idle' || session.ended === 'superseded') return
    setTimeout(() => socket.destroy(), limits.closeGraceMs).unref()
  }
}
