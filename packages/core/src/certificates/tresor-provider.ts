import { OsmError } from '@osm-ts/driver-api'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import type { CaMaterial, CaStore } from './ca-store.js'
import { CertificateAuthority, generateRoot } from './certificate-authority.js'
import type { CertificateProvider, ProviderFault, SignedLeaf, SigningRequest } from './certificate-provider.js'
import type { RootCertificate } from './certificate.js'
import type { Clock } from './clock.js'
import type { CertificateErrorCode } from './errors.js'
import type { KeySpec } from './key-pair.js'
import { AUTHORITIES, authorityOf, type Authority } from './kinds.js'
import { RootBundle } from './root-bundle.js'
import { haveCommonKey } from './root-keys.js'

/** What {@link TresorProvider.open} needs. */
export interface TresorOptions {
  readonly store: CaStore
  readonly clock: Clock
  /** Keys of roots that are not in the store yet. Stored roots keep theirs. */
  readonly rootKey: KeySpec
  /** Absent: both. A process that issues under one only need not be able to read the other. */
  readonly authorities?: readonly Authority[]
}

/** What signs, and what is trusted. */
interface OpenAuthority {
  readonly ca: CertificateAuthority
  readonly bundle: RootBundle
}

/**
 * The built-in CA: two roots in a {@link CaStore}, and every leaf signed right here.
 *
 * Its roots stay for ten years, unless somebody replaces them in the store: anyone who watches that hands over what is
 * there by {@link take}.
 */
export class TresorProvider implements CertificateProvider {
  readonly name = 'tresor'
  readonly signsPublicKeys = true
  readonly #authorities: Map<Authority, OpenAuthority>
  readonly #clock: Clock
  readonly #listeners = new Listeners<Authority>()
  readonly #timers = new Map<Authority, () => void>()
  #turns: Promise<void> = Promise.resolve()
  #closed = false

  private constructor(authorities: ReadonlyMap<Authority, CertificateAuthority>, clock: Clock) {
    this.#authorities = new Map([...authorities].map(([name, ca]) => [name, { ca, bundle: new RootBundle(clock) }]))
    for (const { ca, bundle } of this.#authorities.values()) bundle.set(ca.trusted)
    this.#clock = clock
  }

  /**
   * Loads the roots, and makes and stores those that the store does not hold yet.
   *
   * @throws OsmError with a code of `OSM_CERT_STORE_*` or `OSM_CERT_CA_*`. A root that cannot be used is never
   * replaced: sidecars trust it.
   */
  static async open(options: TresorOptions): Promise<TresorProvider> {
    const authorities = new Map<Authority, CertificateAuthority>()
    for (const authority of options.authorities ?? AUTHORITIES)
      authorities.set(authority, await openAuthority(authority, options))
    const [one, other] = [...authorities.values()]
    if (one !== undefined && other !== undefined) assertApart(one.trusted, other.trusted)
    return new TresorProvider(authorities, options.clock)
  }

  async sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf> {
    signal.throwIfAborted()
    await this.#turn()
    signal.throwIfAborted()
    if (this.#closed) throw closed()
    return this.#authority(authorityOf(request.kind)).ca.sign(request, this.#clock.now())
  }

  rootCertificate(authority: Authority): RootCertificate {
    return this.#authority(authority).ca.root
  }

  trustBundle(authority: Authority): readonly string[] {
    return this.#authority(authority).bundle.roots()
  }

  onRootChange(listener: (authority: Authority) => void): () => void {
    return this.#listeners.add(listener)
  }

  /** None: what could be wrong with a root is told when it is opened. */
  faults(): readonly ProviderFault[] {
    return []
  }

  /**
   * Signs with the current root of the store from now on. Previous roots stay trusted for a day, because their certificates are in use, and peers learn of
   * the new root at different times.
   *
   * @returns false if nothing is new
   * @throws OsmError as {@link open}; then everything stays as it was
   */
  take(authority: Authority, material: CaMaterial): boolean {
    const opened = this.#authority(authority)
    const ca = CertificateAuthority.read(material, this.#clock.now())
    if (this.#closed || ca.trusted.join('') === opened.ca.trusted.join('')) return false
    for (const [name, { bundle }] of this.#authorities) if (name !== authority) assertApart(ca.trusted, bundle.roots())
    this.#authorities.set(authority, { ...opened, ca })
    opened.bundle.set(ca.trusted)
    this.#changed(authority)
    return true
  }

  /** Ends the timers. Whatever is requested from now on is refused with `OSM_CERT_CLOSED`. */
  close(): void {
    this.#closed = true
    for (const cancel of this.#timers.values()) cancel()
  }

  #changed(authority: Authority): void {
    this.#listeners.notify(authority)
    this.#timers.get(authority)?.()
    this.#timers.delete(authority)
    const next = this.#authority(authority).bundle.nextChange()
    if (next === undefined) return
    const wait = Math.max(0, next - this.#clock.now())
    this.#timers.set(
      authority,
      this.#clock.setTimer(() => this.#changed(authority), wait),
    )
  }

  #authority(authority: Authority): OpenAuthority {
    const opened = this.#authorities.get(authority)
    if (opened !== undefined) return opened
    const message = `the CA was opened without its ${authority} authority, and cannot answer for it`
    throw new OsmError<CertificateErrorCode>('OSM_CERT_ISSUE', message)
  }

  /** One certificate per turn of the event loop: thousands requested at once do not keep it from everything else. */
  #turn(): Promise<void> {
    const turn = this.#turns.then(() => new Promise<void>((resolve) => setImmediate(resolve)))
    this.#turns = turn
    return turn
  }
}

async function openAuthority(
  authority: Authority,
  { store, clock, rootKey }: TresorOptions,
): Promise<CertificateAuthority> {
  const stored = await store.load(authority)
  if (stored !== undefined) return CertificateAuthority.read(stored, clock.now())
  const { certificate, privateKey } = await generateRoot(authority, rootKey, clock.now())
  return CertificateAuthority.read(await store.create(authority, certificate, privateKey), clock.now())
}

/**
 * Certificates beside the one that signs count as well: the verifiers of an authority trust all of them.
 *
 * @throws OsmError with code `OSM_CERT_CA_SHARED`
 */
function assertApart(ones: readonly string[], others: readonly string[]): void {
  if (!haveCommonKey(ones, others)) return
  throw new OsmError<CertificateErrorCode>(
    'OSM_CERT_CA_SHARED',
    'the roots of control plane and workloads have the same key: a workload could pass for the control plane; restore one of them',
  )
}

function closed(): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_CLOSED', 'no more certificates are issued: the CA was closed')
}
