import { type JsonWebKey, X509Certificate } from 'node:crypto'

import type { CertificateProvider } from './certificate-provider.js'
import type { Clock } from './clock.js'

/** How often readers are asked to come again, in seconds. A root is trusted for much longer than this before it signs. */
const REFRESH_SECONDS = 300

/** A trust bundle as SPIFFE has it: a JWK set with one key for each root. */
export interface SpiffeBundleDocument {
  readonly keys: readonly (JsonWebKey & { readonly use: 'x509-svid'; readonly x5c: readonly [string] })[]
  /** Grows when the keys change. */
  readonly spiffe_sequence: number
  /** Seconds. */
  readonly spiffe_refresh_hint: number
}

/**
 * The roots of workloads in SPIFFE's format, for peers of other trust domains. Everything in it is public.
 *
 * The sequence is the time in seconds at which this process has seen the roots: so it grows with every change, and across restarts, and replicas need not agree on it.
 */
export class SpiffeBundle {
  readonly #provider: Pick<CertificateProvider, 'trustBundle'>
  readonly #clock: Pick<Clock, 'now'>
  #known: { readonly roots: string; readonly document: SpiffeBundleDocument } | undefined

  constructor(provider: Pick<CertificateProvider, 'trustBundle'>, clock: Pick<Clock, 'now'>) {
    this.#provider = provider
    this.#clock = clock
  }

  /** All roots that are trusted now, the one that signs first. */
  current(): SpiffeBundleDocument {
    const pems = this.#provider.trustBundle('workload')
    const roots = pems.join('\n')
    if (this.#known?.roots !== roots) {
      const before = this.#known?.document.spiffe_sequence ?? 0
      const document = {
        keys: pems.map(keyOf),
        // Two changes may come within a second.
        spiffe_sequence: Math.max(Math.floor(this.#clock.now() / 1000), before + 1),
        spiffe_refresh_hint: REFRESH_SECONDS,
      }
      this.#known = { roots, document }
    }
    return this.#known.document
  }
}

function keyOf(pem: string): SpiffeBundleDocument['keys'][number] {
  const certificate = new X509Certificate(pem)
  return {
    use: 'x509-svid',
    ...certificate.publicKey.export({ format: 'jwk' }),
    x5c: [certificate.raw.toString('base64')],
  }
}
