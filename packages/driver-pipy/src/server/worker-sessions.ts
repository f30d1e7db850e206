import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import { isOsmError, type Logger, type Proxies, type ProxyRef } from '@osm-ts/driver-api'

import type { PipyErrorCode } from '../errors.js'
import { limits } from './limits.js'
import type { SessionPorts } from './session-ports.js'
import { WorkerSession } from './worker-session.js'

/** Why a peer has no session, as an HTTP status and words that it may know. */
export interface Refusal {
  readonly status: 403 | 503
  readonly reason: string
  readonly code: PipyErrorCode
  /** Common name of the peer's certificate, where it proves it to be a proxy. */
  readonly commonName?: string
}

/** The workers that are heard of, each known by its certificate. */
export class WorkerSessions {
  readonly #ports: SessionPorts
  readonly #bySession = new Map<string, WorkerSession>()
  /** By the common name of the proxy, which is its whole identity. */
  readonly #byName = new Map<string, WorkerSession>()
  readonly #byCertificate = new Map<string, WorkerSession>()
  /** Certificates that the host is being asked about: requests that come meanwhile wait for the same answer. */
  readonly #asking = new Map<string, Promise<WorkerSession | Refusal>>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(ports: SessionPorts) {
    this.#ports = ports
  }

  get size(): number {
    return this.#bySession.size
  }

  /** In the order in which they began. */
  [Symbol.iterator](): Iterator<WorkerSession> {
    return this.#bySession.values()
  }

  /**
   * The session of anyone who holds a certificate, begun if there is none, or none that suits.
   *
   * @param peer - DER of the leaf that TLS has verified
   * @param hasKey - for a poll: whether the worker can use the key of that certificate
   */
  async of(peer: Uint8Array, hasKey?: boolean): Promise<WorkerSession | Refusal> {
    const certificate = createHash('sha256').update(peer).digest('base64')
    for (;;) {
      const asked = this.#asking.get(certificate)
      const session = asked === undefined ? this.#byCertificate.get(certificate) : await asked
      if (session !== undefined && 'status' in session) return session
      if (session !== undefined && (hasKey === undefined || session.suits({ certificate, hasKey }))) return session
      if (this.#asking.has(certificate)) continue
      const asking = this.#begin(certificate, peer).finally(() => this.#asking.delete(certificate))
      this.#asking.set(certificate, asking)
    }
  }

  /** Looks after every worker; to be called now and then. */
  sweep(): void {
    for (const session of [...this.#bySession.values()]) session.sweep()
  }

  /** Ends every session, one after the other within that time. A certificate that is still good begins another. */
  reauthenticate(spreadMs: number): void {
    const sessions = [...this.#bySession.values()]
    sessions.forEach((session, index) => {
      setTimeout(() => session.end('rebalance'), (index / sessions.length) * spreadMs).unref()
    })
  }

  /** Cuts off whom the host says, until the signal aborts. */
  async followEvictions(proxies: Pick<Proxies, 'evictions'>, logger: Logger, signal: AbortSignal): Promise<void> {
    for await (const { uuid, session, reason } of proxies.evictions(signal)) {
      const evicted = this.#bySession.get(session)
      if (evicted === undefined) continue
      logger.info({ proxy: uuid, reason }, 'worker is cut off')
      evicted.end(reason)
    }
  }

  /** Ends every session and begins none any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const session of [...this.#bySession.values()]) session.end('shutdown')
    await Promise.all([...this.#running])
  }

  async #begin(certificate: string, peer: Uint8Array): Promise<WorkerSession | Refusal> {
    const { proxies, logger } = this.#ports
    try {
      const proxy = await this.#authenticate(peer)
      if (this.#closing.signal.aborted) {
        await proxies.disconnected(proxy.session)
        return refusal(503, 'the control plane is stopping')
      }
      // The host has ended the other one; a worker whose certificate was replaced uses both until it starts again.
      const before = this.#byName.get(proxy.commonName)
      const certificates = new Set([...(before?.certificates ?? []), certificate])
      before?.end('superseded')
      const session = new WorkerSession(proxy, certificate, certificates, this.#ports)
      this.#add(session)
      return session
    } catch (error) {
      logger.warn({ error: String(error) }, 'worker is not accepted')
      return refusalOf(error)
    }
  }

  /** Waits for a workload that is not known yet. */
  async #authenticate(peer: Uint8Array): Promise<ProxyRef> {
    for (let left: number = limits.unknownWorkerMs; ; left -= limits.unknownWorkerRetryMs) {
      try {
        return await this.#ports.proxies.authenticate(peer)
      } catch (error) {
        if (left <= 0 || this.#closing.signal.aborted || !isOsmError(error, 'OSM_PROXY_UNKNOWN')) throw error
      }
      await sleep(limits.unknownWorkerRetryMs)
    }
  }

  #add(session: WorkerSession): void {
    const { commonName, session: id } = session.proxy
    this.#bySession.set(id, session)
    this.#byName.set(commonName, session)
    for (const certificate of session.certificates) this.#byCertificate.set(certificate, session)
    session.signal.addEventListener('abort', () => this.#remove(session), { once: true })
    const running = session.run().finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  #remove(session: WorkerSession): void {
    const { commonName, session: id } = session.proxy
    this.#bySession.delete(id)
    if (this.#byName.get(commonName) === session) this.#byName.delete(commonName)
    for (const certificate of session.certificates)
      if (this.#byCertificate.get(certificate) === session) this.#byCertificate.delete(certificate)
  }
}

/** How a worker is told that the host did not accept it. */
function refusalOf(error: unknown): Refusal {
  if (isOsmError(error, 'OSM_PROXY_UNAUTHENTICATED')) return refusal(403, 'the certificate is not accepted')
  if (isOsmError(error, 'OSM_PROXY_UNKNOWN')) return refusal(403, 'the workload of that certificate is not known')
  if (isOsmError(error, 'OSM_PROXY_WRONG_CLASS')) return refusal(403, 'the proxy is of another sidecar class')
  if (isOsmError(error, 'OSM_PROXY_EVICTED')) return refusal(503, 'there is no place for another proxy')
  return refusal(503, 'the worker cannot be accepted now')
}

function refusal(status: Refusal['status'], reason: string): Refusal {
  return { status, reason, code: 'OSM_PIPY_WORKER_REFUSED' }
}
