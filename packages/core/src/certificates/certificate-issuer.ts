import { isOsmError, OsmError } from '@osm-ts/driver-api'

import { abandonable, type Abandonable } from '../async/abandonable.js'
import type { CertificatePlan } from './certificate-record.js'
import type { CertificateProvider } from './certificate-provider.js'
import type { CertificateSettings } from './certificate-settings.js'
import type { CertificateNames } from './certificate-subject.js'
import type { Certificate } from './certificate.js'
import type { Clock, Random } from './clock.js'
import type { CertificateErrorCode } from './errors.js'
import type { IssuanceLog } from './issuance-log.js'
import { issueLeaf, signedCertificate } from './issue-leaf.js'
import { type KeyHolder, publicKeyOf } from './key-holder.js'
import type { KeyPair, KeySpec } from './key-pair.js'
import type { LeafKind } from './kinds.js'
import { LeafKeys } from './leaf-keys.js'
import { Semaphore } from './semaphore.js'
import { WaitingRequests } from './waiting-requests.js'

/** Requests that a provider works on at a time. */
const CONCURRENCY = 16
/** Requests that may wait for one of these: several meshes' worth of identities. */
const MAX_WAITING = 20_000
/** Time that a provider has for one request. cert-manager may need most of it. */
const TIMEOUT_MS = 60_000
/** Lifetimes of service certificates are spread over this share of the configured one, half of it either way. */
const LIFETIME_SPREAD = 0.2

/** What issuing needs. */
export interface IssuerOptions {
  readonly provider: CertificateProvider
  /** Read for every request, so that changes of MeshConfig take effect with the next certificate. */
  readonly settings: () => CertificateSettings
  readonly clock: Clock
  readonly random: Random
  /** Told of every certificate. Absent: no one is. */
  readonly issuanceLog?: IssuanceLog
  /** Ends with the process. */
  readonly signal: AbortSignal
}

/** Asks the provider, with a bound on everything: on time, on requests at once, and on those that wait. */
export class CertificateIssuer {
  readonly #options: IssuerOptions
  readonly #semaphore = new Semaphore(CONCURRENCY, MAX_WAITING)
  readonly #keys = new LeafKeys()
  readonly #waiting = new WaitingRequests()
  readonly #attempts = new Set<Abandonable<Certificate<LeafKind>>>()

  constructor(options: IssuerOptions) {
    this.#options = options
    const { signal } = options
    if (signal.aborted) this.#close()
    else signal.addEventListener('abort', () => this.#close(), { once: true })
  }

  /** @throws OsmError with a code of `OSM_CERT_*`, or `OSM_PROXY_KEY` */
  async issue(plan: CertificatePlan): Promise<Certificate<LeafKind>> {
    const { issuanceLog, provider } = this.#options
    const { names, holder } = plan
    try {
      const certificate = await this.#semaphore.run(
        () => (holder === undefined ? this.#request(plan) : this.#requestFor(holder, plan)),
        tooMany,
      )
      issuanceLog?.issued(names, provider.name, certificate, holder)
      return certificate
    } catch (error) {
      issuanceLog?.refused(names, provider.name, error, holder)
      if (isOsmError(error)) throw error
      const message = error instanceof Error ? error.message : 'no reason given'
      throw new OsmError<CertificateErrorCode>(
        'OSM_CERT_ISSUE',
        `provider ${this.#options.provider.name} did not issue a certificate for ${names.commonName}: ${message}`,
        { cause: error },
      )
    }
  }

  async #request({ names, validityMs }: CertificatePlan): Promise<Certificate<LeafKind>> {
    const { provider } = this.#options
    const settings = this.#options.settings()
    const wanted = { ...names, key: settings.key }
    const waiting = this.#waiting.take(wanted)
    const request = waiting?.request ?? {
      ...wanted,
      validityMs: validityMs ?? this.#lifetime(names.kind, settings),
    }
    let pair: KeyPair | undefined
    const takeKey = async (spec: KeySpec): Promise<KeyPair> => (pair = waiting?.pair ?? (await this.#keys.take(spec)))
    try {
      return await this.#attempt(names, (signal) => issueLeaf(provider, request, signal, takeKey))
    } catch (error) {
      if (pair !== undefined && awaitsApproval(error)) this.#waiting.keep({ request, pair })
      throw error
    }
  }

  /** For a key that stays where it is. */
  async #requestFor(holder: KeyHolder, { names, validityMs }: CertificatePlan): Promise<Certificate<LeafKind>> {
    const { provider, settings } = this.#options
    const request = {
      ...names,
      ...publicKeyOf(holder),
      validityMs: validityMs ?? this.#lifetime(names.kind, settings()),
      csr: () => {
        throw noProof(provider.name, names.commonName)
      },
    }
    return this.#attempt(names, async (signal) => signedCertificate(names, await provider.sign(request, signal)))
  }

  /** A provider that ignores the signal is not waited for. */
  async #attempt(
    { commonName }: CertificateNames,
    work: (signal: AbortSignal) => Promise<Certificate<LeafKind>>,
  ): Promise<Certificate<LeafKind>> {
    const { provider, clock } = this.#options
    const attempt = abandonable(work)
    this.#attempts.add(attempt)
    const cancelTimer = clock.setTimer(() => attempt.abandon(timedOut(provider.name, commonName)), TIMEOUT_MS)
    try {
      return await attempt.done
    } finally {
      cancelTimer()
      this.#attempts.delete(attempt)
    }
  }

  #close(): void {
    const reason = closed()
    this.#semaphore.close(reason)
    this.#keys.close()
    this.#waiting.clear()
    for (const attempt of this.#attempts) attempt.abandon(reason)
  }

  /** Identities that start together shall not have to be served together ever after. */
  #lifetime(kind: LeafKind, settings: CertificateSettings): number {
    switch (kind) {
      case 'service':
        return settings.serviceValidityMs * (1 - LIFETIME_SPREAD / 2 + LIFETIME_SPREAD * this.#options.random())
      case 'proxy':
        return settings.proxyValidityMs
      case 'control-plane':
        return settings.controlPlaneValidityMs
      case 'outside':
        return settings.serviceValidityMs
    }
  }
}

function awaitsApproval(error: unknown): boolean {
  return isOsmError(error) && error.code === ('OSM_CERT_APPROVAL_PENDING' satisfies CertificateErrorCode)
}

function tooMany(): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_ISSUE', `${MAX_WAITING} requests for certificates wait already`)
}

function noProof(provider: string, commonName: string): OsmError {
  return new OsmError<CertificateErrorCode>(
    'OSM_CERT_KEY_PROOF',
    `provider ${provider} wants a request for ${commonName} that the key has signed, and the key is with the proxy`,
  )
}

function timedOut(provider: string, commonName: string): OsmError {
  return new OsmError<CertificateErrorCode>(
    'OSM_CERT_ISSUE_TIMEOUT',
    `provider ${provider} did not issue a certificate for ${commonName} within ${TIMEOUT_MS / 1000} s`,
  )
}

function closed(): OsmError {
  return new OsmError<CertificateErrorCode>(
    'OSM_CERT_CLOSED',
    'no more certificates are issued: the process is shutting down',
  )
}
