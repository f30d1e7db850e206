import { createHash } from 'node:crypto'

import { isOsmError, type Proxies } from '@osm-ts/driver-api'

import { limits } from './limits.js'
import { Session, type SessionPorts } from './session.js'

/** The sidecars that poll, each known by its certificate. */
export class Sessions {
  readonly #ports: SessionPorts
  /** By the common name of the proxy, which is its whole identity. */
  readonly #byName = new Map<string, Session>()
  readonly #byCertificate = new Map<string, Session>()
  /** Certificates that the host is being asked about. */
  readonly #asking = new Map<string, Promise<Session | undefined>>()
  readonly #running = new Set<Promise<void>>()
  #closed = false

  constructor(ports: SessionPorts) {
    this.#ports = ports
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.#byName.values()
  }

  /**
   * The session of anyone who holds a certificate, begun if there is none; undefined if the host does not accept it.
   *
   * @param peer - DER of the leaf that TLS has verified
   * @param hasKey - whether the sidecar can use the key of that certificate. Another agent is another session.
   */
  async of(peer: Uint8Array, hasKey: boolean): Promise<Session | undefined> {
    const certificate = createHash('sha256').update(peer).digest('base64')
    const known = this.#byCertificate.get(certificate)
    if (known?.hasKey === hasKey) return known
    const asking = this.#asking.get(certificate) ?? this.#begin(certificate, peer, hasKey)
    this.#asking.set(certificate, asking)
    try {
      return await asking
    } finally {
      this.#asking.delete(certificate)
    }
  }

  /** Ends the sessions of sidecars that are not heard of. */
  sweep(): void {
    for (const session of [...this]) if (session.silentMs > limits.silenceMs) session.end()
  }

  /** Every certificate has to be accepted again. */
  reauthenticate(): void {
    for (const session of [...this]) session.end()
  }

  async followEvictions(proxies: Pick<Proxies, 'evictions'>, signal: AbortSignal): Promise<void> {
    for await (const { session } of proxies.evictions(signal))
      for (const evicted of [...this]) if (evicted.proxy.session === session) evicted.end()
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const session of [...this]) session.end()
    await Promise.all([...this.#running])
  }

  async #begin(certificate: string, peer: Uint8Array, hasKey: boolean): Promise<Session | undefined> {
    const { proxies, logger } = this.#ports
    try {
      const proxy = await proxies.authenticate(peer)
      if (this.#closed) {
        await proxies.disconnected(proxy.session)
        return undefined
      }
      this.#byName.get(proxy.commonName)?.end()
      const session = new Session(proxy, certificate, hasKey, this.#ports)
      this.#byName.set(proxy.commonName, session)
      this.#byCertificate.set(certificate, session)
      session.signal.addEventListener('abort', () => this.#remove(session), { once: true })
      const running = session.run().finally(() => this.#running.delete(running))
      this.#running.add(running)
      return session
    } catch (error) {
      logger.warn({ code: isOsmError(error) ? error.code : '', error: String(error) }, 'sidecar is not accepted')
      return undefined
    }
  }

  #remove(session: Session): void {
    const { commonName } = session.proxy
    if (this.#byName.get(commonName) === session) this.#byName.delete(commonName)
    if (this.#byCertificate.get(session.certificate) === session) this.#byCertificate.delete(session.certificate)
  }
}
