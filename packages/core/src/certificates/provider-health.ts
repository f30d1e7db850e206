import { OsmError } from '@osm-ts/driver-api'
import { backoffMs } from '@osm-ts/driver-api/toolkit'

import type { ProviderFault } from './certificate-provider.js'
import type { Clock, Random } from './clock.js'
import type { CertificateErrorCode } from './errors.js'

/** Pauses between attempts while the authority is unavailable. */
const BACKOFF = { firstMs: 1_000, lastMs: 60_000 } as const
/** Refused requests that are told apart. */
const MAX_REFUSED = 32

interface Failure {
  readonly code: string
  readonly message: string
  readonly since: number
}

interface Outage extends Failure {
  readonly failures: number
  readonly retryAt: number
}

/** A request that the authority may be asked. */
export interface Attempt {
  succeeded(): void
  failed(error: OsmError): void
}

/** What {@link ProviderHealth} is made of. */
export interface ProviderHealthOptions {
  readonly clock: Clock
  readonly random: Random
  /** Called when the authority becomes unavailable or available. */
  readonly onOutage: (outage: Failure | undefined) => void
}

/**
 * Whether an authority outside the process answers.
 *
 * While it is unavailable, one request at a time finds out whether it is back, at growing intervals; all others fail at once.
 */
export class ProviderHealth {
  readonly #options: ProviderHealthOptions
  readonly #refused = new Map<string, Failure>()
  #outage: Outage | undefined
  #isProbed = false
  #shortened: Failure | undefined

  constructor(options: ProviderHealthOptions) {
    this.#options = options
  }

  /** @throws OsmError with the code of the outage if the authority is not to be asked now */
  attempt(subject: string): Attempt {
    const outage = this.#outage
    if (outage !== undefined) this.#admitProbe(outage)
    const end = (error?: OsmError): void => {
      if (outage !== undefined) this.#isProbed = false
      if (error !== undefined && isOutage(error)) this.#fail(error, outage)
      else this.#answered(subject, error)
    }
    return { succeeded: () => end(), failed: end }
  }

  /** A certificate lives shorter than was requested; undefined: one does not. */
  shortened(message: string | undefined): void {
    const since = this.#shortened?.since ?? this.#options.clock.now()
    this.#shortened =
      message === undefined
        ? undefined
        : { code: 'OSM_CERT_ISSUED_SHORTENED' satisfies CertificateErrorCode, message, since }
  }

  faults(about: Pick<ProviderFault, 'provider' | 'authority'>): readonly ProviderFault[] {
    const errors = [...(this.#outage === undefined ? [] : [this.#outage]), ...this.#refused.values()]
    const warnings = this.#shortened === undefined ? [] : [this.#shortened]
    return [
      ...errors.map((failure) => ({ ...about, ...failureOf(failure), severity: 'error' as const })),
      ...warnings.map((failure) => ({ ...about, ...failureOf(failure), severity: 'warning' as const })),
    ]
  }

  #admitProbe({ code, message, retryAt }: Outage): void {
    const waitMs = retryAt - this.#options.clock.now()
    if (waitMs <= 0 && !this.#isProbed) {
      this.#isProbed = true
      return
    }
    const when = waitMs > 0 ? `it is asked again in ${Math.ceil(waitMs / 1000)} s` : 'it is being asked again'
    throw new OsmError(code, `${message}; ${when}`)
  }

  /** Requests that were under way when an outage began say nothing new. */
  #fail({ code, message }: OsmError, outage: Outage | undefined): void {
    if (this.#outage !== outage) return
    const { clock, random, onOutage } = this.#options
    const failures = (outage?.failures ?? 0) + 1
    const retryAt = clock.now() + backoffMs(failures - 1, BACKOFF, random)
    this.#outage = { code, message, since: outage?.since ?? clock.now(), failures, retryAt }
    if (outage === undefined) onOutage(this.#outage)
  }

  #answered(subject: string, error: OsmError | undefined): void {
    this.#refused.delete(subject)
    if (error !== undefined && this.#refused.size < MAX_REFUSED)
      this.#refused.set(subject, { code: error.code, message: error.message, since: this.#options.clock.now() })
    if (this.#outage === undefined) return
    this.#outage = undefined
    this.#options.onOutage(undefined)
  }
}

function isOutage({ code }: OsmError): boolean {
  return code === ('OSM_CERT_PROVIDER_UNAVAILABLE' satisfies CertificateErrorCode)
}

function failureOf({ code, message, since }: Failure): Failure {
  return { code, message, since }
}
