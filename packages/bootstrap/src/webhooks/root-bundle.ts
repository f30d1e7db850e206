import { X509Certificate } from 'node:crypto'

import { OsmError } from '@osm-ts/driver-api'
import type { Clock } from '@osm-ts/core'

import type { BootstrapErrorCode } from '../error-codes.js'

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** More than one after the other in a day would be a mistake, and the API server has to read them for each connection. */
const MAX_RETIRED = 3

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
  #retired: readonly { readonly pem: string; readonly until: number }[] = []

  /** @param keepMs - how long a replaced root stays trusted */
  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock
    this.#keepMs = keepMs
  }

  /** Takes up the roots that sign now. */
  set(roots: readonly string[]): void {
    const replaced = this.#current.filter((pem) => !roots.includes(pem))
    this.#current = roots
    this.retire(replaced)
  }

  /** Keeps roots trusted for a while, as after a restart those that the API server has trusted until now. */
  retire(roots: readonly string[]): void {
    const now = this.#clock.now()
    const until = now + this.#keepMs
    const added = roots.filter((pem) => isValid(pem, now)).map((pem) => ({ pem, until }))
    const isNew = new Set(roots)
    this.#retired = [...added, ...this.#retired.filter(({ pem }) => !isNew.has(pem))].slice(0, MAX_RETIRED)
  }

  /** PEM of all that are trusted now, those that sign first. */
  pem(): string {
    const now = this.#clock.now()
    const retired = this.#retired.flatMap(({ pem, until }) =>
      until > now && !this.#current.includes(pem) ? [pem] : [],
    )
    return [...this.#current, ...retired].join('')
  }

  /** When the next retired root falls away, in milliseconds since 1970. */
  nextChange(): number | undefined {
    const now = this.#clock.now()
    const ends = this.#retired.flatMap(({ until }) => (until > now ? [until] : []))
    return ends.length === 0 ? undefined : Math.min(...ends)
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
