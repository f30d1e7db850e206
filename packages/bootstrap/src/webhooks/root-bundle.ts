import { X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import type { Clock } from '@osm-ts/core'

import type { BootstrapErrorCode } from '../error-codes.js'

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** More than one after the other in a day would be a mistake, and the API server has to read them for each connection. */
const MAX_REPLACED = 3

/**
 * The certificates of CAs in a PEM text, each in its usual form.
 *
 * @param origin - names where the text came from
 * @throws OsmError with code `OSM_BOOTSTRAP_ROOT`
 */
export function parseRoots(pem: string, origin: string): readonly string[] {
  const roots = (pem.match(PEM_CERTIFICATE) ?? []).map((text) => readRoot(text, origin))
  if (roots.length === 0) throw refuse(`${origin} holds no certificate in PEM`)
  return [...new Set(roots)]
}

/**
 * Roots that the API server verifies the webhooks by.
 *
 * Injector and controller do not take up a new root in the moment in which the API server learns of it. So a root that was
 * replaced stays trusted for a while, which is what keeps pods from being refused in between.
 */
export class RootBundle {
  readonly #clock: Clock
  readonly #keepMs: number
  #current: readonly string[] = []
  #replaced: readonly string[] = []
  #since = 0

  /** @param keepMs - how long a replaced root stays trusted */
  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock
    this.#keepMs = keepMs
  }

  /** Since when the current roots are trusted, in milliseconds since 1970. */
  get since(): number {
    return this.#since
  }

  /** Takes up the roots that sign now. */
  set(roots: readonly string[]): void {
    const now = this.#clock.now()
    if (roots.join('') === this.#current.join('')) return
    this.#replaced = [...this.#current, ...this.#stillTrusted()]
    this.#current = roots
    this.#since = now
  }

  /**
   * Goes on from what the API server trusts already, such as after a restart: the Secret may have been replaced since.
   *
   * @param trusted - in the order of {@link pem}
   * @param since - when the first of them was taken up, if that is known
   */
  resume(trusted: readonly string[], since: number | undefined): void {
    this.#replaced = trusted
    if (trusted[0] === this.#current[0] && since !== undefined) this.#since = Math.min(since, this.#since)
  }

  /** PEM of all that are trusted now, those that sign first. */
  pem(): string {
    return [...this.#current, ...this.#stillTrusted()].join('')
  }

  /** When the replaced roots fall away, in milliseconds since 1970. */
  nextChange(): number | undefined {
    return this.#stillTrusted().length === 0 ? undefined : this.#since + this.#keepMs
  }

  #stillTrusted(): readonly string[] {
    const now = this.#clock.now()
    if (now >= this.#since + this.#keepMs) return []
    const kept = [...new Set(this.#replaced)].filter((pem) => !this.#current.includes(pem) && isValid(pem, now))
    return kept.slice(0, MAX_REPLACED)
  }
}

function readRoot(text: string, origin: string): string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(text)
  } catch {
    throw refuse(`${origin} holds something that is no certificate`)
  }
  if (!certificate.ca) throw refuse(`${origin} holds a certificate that is not one of a CA`)
  return certificate.toString()
}

function isValid(pem: string, now: number): boolean {
  return Date.parse(new X509Certificate(pem).validTo) > now
}

function refuse(message: string): OsmError {
  return new OsmError<BootstrapErrorCode>('OSM_BOOTSTRAP_ROOT', message)
}
