import type { TLSSocket } from 'node:tls'

import type { Logger, Proxies } from '@osm-ts/driver-api'

import type { PipyErrorCode } from '../errors.js'
import { limits } from './limits.js'

/** Why somebody is refused. */
export interface PeerFault {
  readonly code: PipyErrorCode
  readonly reason: string
}

/** Ways in which a peer was refused whose time is remembered, so that one that tries forever does not fill the log. */
const MAX_REMEMBERED = 256

/** Tells of those who were refused: the host each time, the log now and then. */
export class RefusedPeers {
  readonly #proxies: Pick<Proxies, 'observe'>
  readonly #logger: Logger
  readonly #now: () => number
  /** When it was logged last, the latest last. */
  readonly #logged = new Map<string, number>()

  /** @param now - milliseconds */
  constructor(proxies: Pick<Proxies, 'observe'>, logger: Logger, now: () => number) {
    this.#proxies = proxies
    this.#logger = logger
    this.#now = now
  }

  /** A handshake has failed. */
  shake(error: Error & { readonly code?: string }, socket: TLSSocket): void {
    const fault = handshakeFault(error, socket)
    if (fault !== undefined) this.note(addressOf(socket), fault)
  }

  /** @param commonName - that of the peer's certificate, where it proves it to be a proxy */
  note(address: string, { code, reason }: PeerFault, commonName?: string): void {
    this.#log(code, address, reason)
    this.#proxies
      .observe({ refused: { address, code, message: reason, ...(commonName === undefined ? {} : { commonName }) } })
      .catch((error: unknown) => this.#logger.error({ error: String(error) }, 'host was not told of a refused peer'))
  }

  #log(code: PipyErrorCode, address: string, reason: string): void {
    const key = `${address}\n${code}\n${reason}`
    const now = this.#now()
    if (now - (this.#logged.get(key) ?? -Infinity) < limits.refusalLogMs) return
    this.#logged.delete(key)
    this.#logged.set(key, now)
    const [oldest] = this.#logged.keys()
    if (this.#logged.size > MAX_REMEMBERED && oldest !== undefined) this.#logged.delete(oldest)
    this.#logger.warn({ code, peer: address, reason }, 'the repo server refused a client')
  }
}

/** Where a peer is, also once its connection is closed. */
export function addressOf(socket: TLSSocket): string {
  // A connection whose certificate was refused is closed before anybody hears of it. Only what is below the encryption then still knows.
  const below = (socket as { readonly _parent?: { readonly remoteAddress?: string } | null })._parent
  return (socket.remoteAddress ?? below?.remoteAddress ?? 'unknown').replace(/^::ffff:/, '')
}

/** What keeps a peer from being a worker; undefined for peers that just disconnect, such as health checks and scanners. */
function handshakeFault(error: Error & { readonly code?: string }, socket: TLSSocket): PeerFault | undefined {
  // Node has its code here, whatever the declaration says.
  const verdict = socket.authorizationError as unknown as string | null | undefined
  // OpenSSL continues after an invalid signature, and its verdict is what it finds last: the date would hide the signature. A date that no one has signed
  // says nothing. Whether there is a verdict by now depends on the order in which Node reads and tells.
  if (isForeignSignature(error))
    return {
      code: 'OSM_PIPY_CERTIFICATE_REFUSED',
      reason: 'the certificate is not of this control plane (CERT_SIGNATURE_FAILURE)',
    }
  if (verdict === 'CERT_HAS_EXPIRED' && error.code === 'ECONNRESET')
    return { code: 'OSM_PIPY_CERTIFICATE_EXPIRED', reason: 'the certificate has expired' }
  if (typeof verdict === 'string')
    return {
      code: 'OSM_PIPY_CERTIFICATE_REFUSED',
      reason: `the certificate is not of this control plane (${verdict})`,
    }
  switch (error.code) {
    case 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE':
      return { code: 'OSM_PIPY_CERTIFICATE_REFUSED', reason: 'no certificate was shown' }
    case 'ERR_SSL_HTTP_REQUEST':
      return { code: 'OSM_PIPY_CERTIFICATE_REFUSED', reason: 'plain HTTP was spoken; this port speaks mutual TLS' }
    default:
      return undefined
  }
}

/** True if another authority of the same name has signed: the error that is left of it fails the handshake. */
function isForeignSignature(error: Error & { readonly opensslErrorStack?: readonly string[] }): boolean {
  return [error.message, ...(error.opensslErrorStack ?? [])].some((line) => line.includes('ASN1_item_verify'))
}
