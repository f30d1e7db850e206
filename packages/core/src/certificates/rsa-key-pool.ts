import { OsmError } from '@osm-ts/driver-api'

import type { CertificateErrorCode } from './errors.js'
import { generateRsaKeyPair, type KeyPair } from './key-pair.js'

/**
 * Keys made ahead of demand. A few hide the 0.1 to 0.3 s that one costs; many would only keep unused keys in memory.
 */
const READY = 4
/** Keys made at once. libuv has four threads, and files and DNS need some of them. */
const CONCURRENCY = 2
/** Callers that may wait for a key before further ones are refused. */
const MAX_WAITING = 4096

interface Waiter {
  resolve(key: KeyPair): void
  reject(error: unknown): void
}

/**
 * RSA keys of one size, a few of them ready before they are requested.
 *
 * Nothing is made before the first request. A key is handed out once and then forgotten.
 */
export class RsaKeyPool {
  readonly bits: number
  readonly #generate: (bits: number) => Promise<KeyPair>
  readonly #ready: KeyPair[] = []
  readonly #waiting: Waiter[] = []
  #running = 0
  #closed = false

  constructor(bits: number, generate: (bits: number) => Promise<KeyPair> = generateRsaKeyPair) {
    this.bits = bits
    this.#generate = generate
  }

  /** @throws OsmError with code `OSM_CERT_CLOSED`, or `OSM_CERT_ISSUE` if too many wait already */
  take(): Promise<KeyPair> {
    if (this.#closed) return Promise.reject(closed())
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(
        new OsmError<CertificateErrorCode>('OSM_CERT_ISSUE', `${MAX_WAITING} requests wait for an RSA key already`),
      )
    const key = this.#ready.shift()
    const taken =
      key === undefined
        ? new Promise<KeyPair>((resolve, reject) => this.#waiting.push({ resolve, reject }))
        : Promise.resolve(key)
    this.#refill()
    return taken
  }

  /** Forgets the prepared keys and refuses anyone who waits. */
  close(): void {
    this.#closed = true
    this.#ready.length = 0
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closed())
  }

  #refill(): void {
    while (
      !this.#closed &&
      this.#running < CONCURRENCY &&
      this.#ready.length + this.#running < READY + this.#waiting.length
    ) {
      this.#running += 1
      this.#generate(this.bits).then(
        (key) => this.#made(key),
        (error: unknown) => this.#failed(error),
      )
    }
  }

  #made(key: KeyPair): void {
    this.#running -= 1
    if (this.#closed) return
    const waiter = this.#waiting.shift()
    if (waiter === undefined) this.#ready.push(key)
    else waiter.resolve(key)
    this.#refill()
  }

  /** A failure belongs to anyone who waits; with no one waiting the next request tries again. */
  #failed(error: unknown): void {
    this.#running -= 1
    this.#waiting.shift()?.reject(error)
    if (this.#waiting.length > 0) this.#refill()
  }
}

function closed(): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_CLOSED', 'no more keys are made: the process is shutting down')
}
