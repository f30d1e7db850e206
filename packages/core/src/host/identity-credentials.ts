import { type Credential, isOsmError, type Logger, type MeshService, type ServiceAccountRef } from '@osm-ts/driver-api'
import { errorMessage, Latest } from '@osm-ts/driver-api/toolkit'

import type { CertificateAnnouncement, CertificateManager } from '../certificates/certificate-manager.js'
import { type CertificateRef, certificateRef, type ServiceSubject } from '../certificates/certificate-subject.js'
import type { ServiceCertificate } from '../certificates/certificate.js'
import type { KeyHolder } from '../certificates/key-holder.js'
import { authorityOf } from '../certificates/kinds.js'
import type { MeshDomains } from '../identity/mesh-domains.js'
import { nameKey } from '../catalog/policy/parts/keys.js'

/** What {@link IdentityCredentials} needs. */
export interface IdentityCredentialsOptions {
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  /** Services that an identity backs now. */
  readonly servicesOf: (account: ServiceAccountRef) => readonly MeshService[]
  readonly logger: Logger
  readonly setTimer: (callback: () => void, delayMs: number) => () => void
}

/** Pauses between attempts double from the first to the last: a provider may be unavailable for long, and identities are many. */
const RETRY = { firstMs: 2_000, lastMs: 60_000 } as const
/** Proxies that lose their connection wait for 30 s at most before they return. */
const KEEP_MS = 60_000
/** Certificates for keys of proxies that are kept without a user: as many proxies as a replica has. What is beyond is signed again. */
const MAX_KEPT = 10_000

type ServiceRef = Extract<CertificateRef, { kind: 'service' }>

interface Entry {
  readonly account: ServiceAccountRef
  /** Who has the key; absent: sidecars of the identity share it. */
  readonly holder: KeyHolder | undefined
  readonly ref: ServiceRef
  readonly credential: Latest<Credential>
  users: number
  /** Services that the last issue was requested for. */
  services: string
  cancelRetry: (() => void) | undefined
  /** Keeps the certificate from being released while it has no user. */
  cancelRelease: (() => void) | undefined
  /** In a row. */
  failures: number
  /** Ends every watch. */
  refusal: Error | undefined
}

/**
 * Service certificates of the identities whose proxies are connected, reissued when the set of services behind the identity changes. One for each identity, shared
 * by its proxies, or one for each holder of a key. They are released a minute after their last user has gone, so that none is signed again when many reconnect. Those of
 * holders are also released when another root signs, or the proxy is released.
 */
export class IdentityCredentials {
  readonly #options: IdentityCredentialsOptions
  readonly #entries = new Map<string, Entry>()
  readonly #byAccount = new Map<string, Set<Entry>>()
  /** Entries of holders that have no user, by the common name of the proxy. The longest without one comes first. */
  readonly #idle = new Map<string, Entry>()
  #keeps = true

  constructor(options: IdentityCredentialsOptions) {
    this.#options = options
  }

  /** Follows announcements of the certificate manager until the signal aborts. From then on nothing is kept without a user. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for await (const announcement of this.#options.certificates.subscribe(signal)) {
        this.#heard(announcement)
      }
    } finally {
      this.#keeps = false
      for (const entry of this.#entries.values()) if (entry.users === 0) this.#release(entry)
    }
  }

  /**
   * The certificate of an identity, then each that replaces it.
   *
   * @param holder - who has the key that it is for; absent: the key comes with it
   * @throws OsmError with code `OSM_PROXY_KEY` for a key that is not accepted
   */
  async *watch(
    account: ServiceAccountRef,
    signal: AbortSignal,
    holder?: KeyHolder,
  ): AsyncGenerator<Credential, void, undefined> {
    const entry = this.#entryOf(account, holder)
    entry.users += 1
    this.#endKeeping(entry)
    try {
      this.#ensure(entry, this.#options.servicesOf(account))
      yield* entry.credential.watch(signal)
      if (entry.refusal !== undefined) throw entry.refusal
    } finally {
      entry.users -= 1
      if (entry.users === 0) this.#keepForNow(entry)
    }
  }

  /**
   * Looks whether identities back other services than before.
   *
   * @param accounts - the only ones that may; all when left out
   */
  servicesChanged(accounts?: readonly ServiceAccountRef[]): void {
    const keys = accounts === undefined ? [...this.#byAccount.keys()] : new Set(accounts.map(nameKey))
    for (const key of keys) {
      const [first, ...others] = this.#byAccount.get(key) ?? []
      if (first === undefined) continue
      const services = this.#options.servicesOf(first.account)
      for (const entry of [first, ...others]) this.#ensure(entry, services)
    }
  }

  /**
   * Releases the certificate that is kept for a proxy without a user.
   *
   * @param commonName - of the proxy certificate
   */
  releaseKept(commonName: string): void {
    const entry = this.#idle.get(commonName)
    if (entry !== undefined) this.#release(entry)
  }

  #entryOf(account: ServiceAccountRef, holder: KeyHolder | undefined): Entry {
    // The services in a certificate are not part of its name.
    const ref = certificateRef<'service'>(subjectOf({ account, holder }, []), this.#options.domains)
    const known = this.#entries.get(keyOf(ref))
    if (known !== undefined) {
      if (holder === undefined || known.users > 0 || this.#isSignedByCurrentRoot(known)) return known
      this.#release(known)
    }
    const entry: Entry = {
      account,
      holder,
      ref,
      credential: new Latest<Credential>(),
      users: 0,
      services: '',
      cancelRetry: undefined,
      cancelRelease: undefined,
      failures: 0,
      refusal: undefined,
    }
    this.#entries.set(keyOf(ref), entry)
    const siblings = this.#byAccount.get(nameKey(account)) ?? new Set()
    this.#byAccount.set(nameKey(account), siblings.add(entry))
    return entry
  }

  #ensure(entry: Entry, services: readonly MeshService[]): void {
    // The next user asks for what is missing then.
    if (entry.users === 0) return
    const key = services.map(nameKey).sort().join(' ')
    if (entry.credential.current !== undefined && entry.services === key) return
    entry.services = key
    entry.cancelRetry?.()
    entry.cancelRetry = undefined
    this.#options.certificates.issueCertificate(subjectOf(entry, services)).then(
      (certificate) => {
        entry.failures = 0
        entry.credential.set(credentialOf(entry, certificate))
      },
      (error: unknown) => this.#failed(entry, error),
    )
  }

  #failed(entry: Entry, error: unknown): void {
    if (isOsmError(error, 'OSM_PROXY_KEY')) {
      entry.refusal = error
      entry.credential.close()
      return
    }
    const retryMs = Math.min(RETRY.lastMs, RETRY.firstMs * 2 ** entry.failures)
    entry.failures += 1
    const account = nameKey(entry.account)
    this.#options.logger.error(
      { account, ...(entry.holder && { proxy: entry.holder.commonName }), reason: errorMessage(error), retryMs },
      'a service certificate could not be issued; the last one stays in force',
    )
    entry.services = ''
    if (entry.users === 0) return
    entry.cancelRetry = this.#options.setTimer(() => {
      this.#ensure(entry, this.#options.servicesOf(entry.account))
    }, retryMs)
  }

  #offer(entry: Entry): void {
    const certificate = this.#options.certificates.getCertificate(entry.ref)
    if (certificate !== undefined && certificate.serialNumber !== entry.credential.current?.serialNumber)
      entry.credential.set(credentialOf(entry, certificate))
  }

  #heard(announcement: CertificateAnnouncement): void {
    const { type } = announcement
    if (type === 'missed') for (const entry of this.#entries.values()) this.#offer(entry)
    if (type === 'missed' || type === 'rootChanged') for (const entry of [...this.#idle.values()]) this.#release(entry)
    if (type !== 'rotated' && type !== 'released') return
    const { certificate } = announcement
    if (type === 'rotated' && certificate.kind === 'service') {
      const entry = this.#entries.get(keyOf(certificate))
      if (entry !== undefined) this.#offer(entry)
    }
    if (type === 'released' && certificate.kind === 'proxy') this.releaseKept(certificate.commonName)
  }

  #keepForNow(entry: Entry): void {
    entry.cancelRetry?.()
    entry.cancelRetry = undefined
    const { holder, credential } = entry
    if (!this.#keeps || (holder !== undefined && credential.current === undefined)) {
      this.#release(entry)
      return
    }
    entry.cancelRelease = this.#options.setTimer(() => this.#release(entry), KEEP_MS)
    if (holder === undefined) return
    const before = this.#idle.get(holder.commonName)
    if (before !== undefined) this.#release(before)
    this.#idle.set(holder.commonName, entry)
    const [oldest] = this.#idle.values()
    if (oldest !== undefined && this.#idle.size > MAX_KEPT) this.#release(oldest)
  }

  #endKeeping(entry: Entry): void {
    entry.cancelRelease?.()
    entry.cancelRelease = undefined
    if (entry.holder !== undefined && this.#idle.get(entry.holder.commonName) === entry)
      this.#idle.delete(entry.holder.commonName)
  }

  #isSignedByCurrentRoot({ ref }: Entry): boolean {
    const { certificates } = this.#options
    const root = certificates.getRootCertificate(authorityOf('service'))
    return certificates.getCertificate(ref)?.issuingCA.chain === root.chain
  }

  #release(entry: Entry): void {
    this.#endKeeping(entry)
    entry.credential.close()
    if (this.#entries.get(keyOf(entry.ref)) !== entry) return
    this.#entries.delete(keyOf(entry.ref))
    const account = nameKey(entry.account)
    const siblings = this.#byAccount.get(account)
    siblings?.delete(entry)
    if (siblings?.size === 0) this.#byAccount.delete(account)
    this.#options.certificates.releaseCertificate(entry.ref)
  }
}

function subjectOf(
  { account, holder }: Pick<Entry, 'account' | 'holder'>,
  services: readonly MeshService[],
): ServiceSubject {
  return { kind: 'service', serviceAccount: account, services, ...(holder && { holder }) }
}

function credentialOf({ holder }: Entry, certificate: ServiceCertificate): Credential {
  return holder === undefined ? certificate.credential() : certificate.credentialWithoutKey()
}

function keyOf({ commonName, holder = '' }: ServiceRef): string {
  return `${commonName}/${holder}`
}
