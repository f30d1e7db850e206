import type { X509Certificate } from 'node:crypto'

import { isOsmError, OsmError, type Logger } from '@osm-ts/driver-api'
import { backoffMs, errorMessage } from '@osm-ts/driver-api/toolkit'

import { abandonable } from '../async/abandonable.js'
import type { CertificateProvider, ProviderFault, SignedLeaf, SigningRequest } from './certificate-provider.js'
import type { RootCertificate } from './certificate.js'
import { type Clock, pause, type Random } from './clock.js'
import type { CertificateErrorCode } from './errors.js'
import { checkIssuedChain, rootCertificateOf, selfSignedRoots } from './issued-chain.js'
import { authorityOf, type Authority } from './kinds.js'
import { ProviderHealth } from './provider-health.js'
import { RootBundle } from './root-bundle.js'
import { haveCommonKey } from './root-keys.js'

/**
 * An authority outside the process, such as Vault. It is not trusted to do what it is asked for: {@link RemoteProvider} checks all that it returns.
 */
export interface RemoteAuthority {
  readonly name: string
  /**
   * Signs the request. PEM of the leaf first, then of its intermediates in any order.
   *
   * @throws OsmError with code `OSM_CERT_PROVIDER_REFUSED` if the authority answers and refuses; any other error means that it is unavailable
   */
  sign(request: SigningRequest, signal: AbortSignal): Promise<string>
  /** PEM of its CA certificates, with at least one root. Throws as {@link sign}. */
  caCertificates(signal: AbortSignal): Promise<string>
}

/** What a {@link RemoteProvider} is made of. */
export interface RemoteProviderOptions {
  readonly remote: RemoteAuthority
  readonly authority: Authority
  /** PEM of the roots that may be trusted. Absent: those that the authority names. */
  readonly pinnedRoots?: string
  /** PEM of roots of the mesh's other authority, whose keys must not sign here. */
  readonly otherRoots: () => readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Time for one answer. */
const TIMEOUT_MS = 30_000
/** Interval between two looks at the roots of the authority. */
const ROOTS_MS = 300_000
/** Pauses between attempts to read the roots at the start. */
const OPEN_BACKOFF = { firstMs: 1_000, lastMs: 30_000 } as const
/** Share of the lifetime requested that a certificate may lack before that is reported. */
const SHORTENED = 0.1

/** Certificates of one authority of the mesh from an authority outside the process. */
export class RemoteProvider implements CertificateProvider {
  readonly name: string
  /** The protocols of Vault and cert-manager take PKCS#10, and both check its signature. */
  readonly signsPublicKeys = false
  readonly #options: RemoteProviderOptions
  readonly #bundle: RootBundle
  readonly #health: ProviderHealth
  readonly #listeners = new Set<(authority: Authority) => void>()
  #signing: RootCertificate
  /** The roots that listeners know. Replaced ones fall away by time alone. */
  #announced: string

  private constructor(options: RemoteProviderOptions, roots: readonly X509Certificate[]) {
    const { clock, random, remote, logger } = options
    this.name = remote.name
    this.#options = options
    this.#bundle = new RootBundle(clock)
    this.#signing = rootCertificateOf(newest(roots))
    this.#bundle.set(roots.map(String))
    this.#announced = this.#bundle.roots().join('')
    this.#health = new ProviderHealth({
      clock,
      random,
      onOutage: (outage) => {
        if (outage === undefined) logger.info({ provider: this.name }, 'the certificate provider is available again')
        else
          logger.error(
            { provider: this.name, code: outage.code, reason: outage.message },
            'the certificate provider is unavailable; certificates in force stay in use',
          )
      },
    })
  }

  /**
   * Reads the roots of the authority. Waits until it answers with some that can be used, or the signal aborts.
   *
   * @throws the reason of the signal
   */
  static async open(options: RemoteProviderOptions, signal: AbortSignal): Promise<RemoteProvider> {
    const { remote, clock, random, logger } = options
    for (let failures = 0; ; failures += 1) {
      try {
        return new RemoteProvider(options, await readRoots(options, signal))
      } catch (error) {
        signal.throwIfAborted()
        const waitMs = backoffMs(failures, OPEN_BACKOFF, random)
        logger.error(
          { provider: remote.name, ...reasonOf(error), retryMs: Math.round(waitMs) },
          'the roots of the certificate provider cannot be read; no proxy is served before',
        )
        await pause(clock, waitMs, signal)
        signal.throwIfAborted()
      }
    }
  }

  async sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    if (authorityOf(request.kind) !== this.#options.authority) throw this.#notMine(authorityOf(request.kind))
    signal.throwIfAborted()
    const attempt = this.#health.attempt(request.commonName)
    try {
      const signed = await this.#sign(request, signal)
      attempt.succeeded()
      this.#compareLifetime(request, signed)
      return signed
    } catch (error) {
      const failure = isOsmError(error) ? error : unavailable(this.name, error)
      attempt.failed(failure)
      throw failure
    }
  }

  rootCertificate(authority: Authority): RootCertificate {
    if (authority !== this.#options.authority) throw this.#notMine(authority)
    return this.#signing
  }

  trustBundle(authority: Authority): readonly string[] {
    if (authority !== this.#options.authority) throw this.#notMine(authority)
    return this.#bundle.roots()
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  faults(): readonly ProviderFault[] {
    return this.#health.faults({ provider: this.name, authority: this.#options.authority })
  }

  /** Looks from time to time whether the authority has other roots, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options
    for (;;) {
      await pause(clock, Math.min(ROOTS_MS, this.#untilChange()) * (0.9 + 0.1 * random()), signal)
      if (signal.aborted) return
      await this.#readRoots(signal).catch((error: unknown) => {
        // The aborted reading of a program that ends is no failure.
        if (signal.aborted) return
        logger.warn(
          { provider: this.name, ...reasonOf(error) },
          'the previous roots of the certificate provider stay trusted',
        )
      })
    }
  }

  async #sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    const { remote, clock } = this.#options
    const pem = await withTimeout(this.#options, (scope) => remote.sign(request, scope), signal)
    const check = (): SignedLeaf => checkIssuedChain({ pem, request, roots: this.#bundle.roots(), now: clock.now() })
    const signed = await this.#orWithNewRoots(check, signal)
    this.#signedBy(signed.root)
    return signed
  }

  /** Another root may sign since the last look. */
  async #orWithNewRoots(check: () => SignedLeaf, signal: AbortSignal): Promise<SignedLeaf> {
    try {
      return check()
    } catch (error) {
      if (!isOsmError(error) || error.code !== ('OSM_CERT_ISSUED_CHAIN' satisfies CertificateErrorCode)) throw error
      if (!(await this.#readRoots(signal))) throw error
      return check()
    }
  }

  /** @returns whether other roots are trusted now */
  async #readRoots(signal: AbortSignal): Promise<boolean> {
    const roots = await readRoots(this.#options, signal)
    this.#bundle.set(roots.map(String))
    if (!this.#bundle.roots().includes(this.#signing.chain)) this.#signing = rootCertificateOf(newest(roots))
    const trusted = this.#bundle.roots().join('')
    if (trusted === this.#announced) return false
    this.#announced = trusted
    const { logger } = this.#options
    logger.info(
      { provider: this.name, trusted: this.#bundle.roots().length },
      'the certificate provider has other roots',
    )
    this.#changed()
    return true
  }

  /** An authority may sign under several roots in turn. The newest counts, so that certificates are not replaced for nothing. */
  #signedBy(root: RootCertificate): void {
    if (root.chain === this.#signing.chain || root.notBefore < this.#signing.notBefore) return
    this.#signing = root
    this.#changed()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener(this.#options.authority)
  }

  #compareLifetime({ validityMs, commonName }: SigningRequest, { expiration }: SignedLeaf): void {
    const missing = validityMs - (expiration - this.#options.clock.now())
    this.#health.shortened(
      missing > validityMs * SHORTENED
        ? `the certificate for ${commonName} expires after ${seconds(validityMs - missing)} s instead of the ${seconds(validityMs)} s asked for; raise the limit of the authority, or lower spec.certificate.serviceCertValidityDuration`
        : undefined,
    )
  }

  /** Until a replaced root is no longer trusted, in milliseconds. */
  #untilChange(): number {
    const next = this.#bundle.nextChange()
    return next === undefined ? ROOTS_MS : Math.max(1_000, next - this.#options.clock.now())
  }

  #notMine(authority: Authority): OsmError {
    const message = `provider ${this.name} does not sign for the ${authority} authority`
    return new OsmError<CertificateErrorCode>('OSM_CERT_ISSUE', message)
  }
}

async function readRoots(options: RemoteProviderOptions, signal: AbortSignal): Promise<readonly X509Certificate[]> {
  const { remote, pinnedRoots, otherRoots, clock } = options
  const pem = pinnedRoots ?? (await withTimeout(options, (scope) => remote.caCertificates(scope), signal))
  const now = clock.now()
  const roots = selfSignedRoots(pem, `provider ${remote.name}`).filter(({ validTo }) => Date.parse(validTo) > now)
  if (roots.length === 0)
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_ISSUED_CHAIN',
      `provider ${remote.name} names no root that is valid now; add the root to its chain, or configure it`,
    )
  if (haveCommonKey(otherRoots(), roots))
    throw new OsmError<CertificateErrorCode>(
      'OSM_CERT_CA_SHARED',
      `a root of provider ${remote.name} has the key of the mesh's other root: a workload could pass for the control plane`,
    )
  return [...roots].sort((a, b) => Date.parse(b.validFrom) - Date.parse(a.validFrom))
}

/** An authority that ignores the signal is not waited for. */
async function withTimeout<T>(
  { clock, remote }: RemoteProviderOptions,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const task = abandonable((scope) => work(AbortSignal.any([scope, signal])))
  const message = `provider ${remote.name} did not answer within ${TIMEOUT_MS / 1000} s`
  const cancel = clock.setTimer(
    () => task.abandon(new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_UNAVAILABLE', message)),
    TIMEOUT_MS,
  )
  try {
    return await task.done
  } finally {
    cancel()
  }
}

function unavailable(name: string, cause: unknown): OsmError {
  const message = `provider ${name} is unavailable: ${errorMessage(cause)}`
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_UNAVAILABLE', message, { cause })
}

function newest([first, ...others]: readonly X509Certificate[]): X509Certificate {
  if (first === undefined) throw new RangeError('no root is left, which readRoots rules out')
  return others.reduce((best, each) => (Date.parse(each.validFrom) > Date.parse(best.validFrom) ? each : best), first)
}

function reasonOf(error: unknown): { readonly code?: string; readonly reason: string } {
  const reason = errorMessage(error)
  return isOsmError(error) ? { code: error.code, reason } : { reason }
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000)
}
