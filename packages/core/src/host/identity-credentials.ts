import type { Credential, Logger, MeshService, ProxyRef, ServiceAccountRef } from '@osm-ts/driver-api'
import { errorMessage, Latest } from '@osm-ts/driver-api/toolkit'

import type { CertificateManager } from '../certificates/certificate-manager.js'
import { type CertificateRef, certificateRef } from '../certificates/certificate-subject.js'
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

interface Entry {
  readonly account: ServiceAccountRef
  readonly credential: Latest<Credential>
  users: number
  /** Services that the last issue was requested for. */
  services: string
  cancelRetry: (() => void) | undefined
  /** Keeps the certificate from being released while it has no user. */
  cancelRelease: (() => void) | undefined
  /** In a row. */
  failures: number
}

/**
 * Service certificates of the identities whose proxies are connected: one for each identity, shared by its proxies, reissued when the set of services
 * behind the identity changes, released a minute after the last proxy has gone: when many reconnect at once, none of them is signed for again.
 */
export class IdentityCredentials {
  readonly #options: IdentityCredentialsOptions
  readonly #entries = new Map<string, Entry>()
  #keeps = true

  constructor(options: IdentityCredentialsOptions) {
    this.#options = options
  }

  /** Follows announcements of the certificate manager until the signal aborts. From then on nothing is kept without a user. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for await (const announcement of this.#options.certificates.subscribe(signal)) {
        if (announcement.type === 'missed') for (const entry of this.#entries.values()) this.#offer(entry)
        if (announcement.type !== 'rotated' || announcement.certificate.kind !== 'service') continue
        const { commonName } = announcement.certificate
        for (const entry of this.#entries.values()) {
          if (this.#refOf(entry).commonName === commonName) this.#offer(entry)
        }
      }
    } finally {
      this.#keeps = false
      for (const [key, entry] of this.#entries) if (entry.users === 0) this.#release(key, entry)
    }
  }

  /** The certificate of a proxy's identity, then each that replaces it. */
  async *watch(
    proxy: ProxyRef,
    account: ServiceAccountRef,
    signal: AbortSignal,
  ): AsyncGenerator<Credential, void, undefined> {
    const key = nameKey(account)
    const entry = this.#entries.get(key) ?? {
      account,
      credential: new Latest<Credential>(),
      users: 0,
      services: '',
      cancelRetry: undefined,
      cancelRelease: undefined,
      failures: 0,
    }
    this.#entries.set(key, entry)
    entry.users += 1
    entry.cancelRelease?.()
    entry.cancelRelease = undefined
    try {
      this.#ensure(entry)
      yield* entry.credential.watch(signal)
    } finally {
      entry.users -= 1
      if (entry.users === 0) this.#keepForNow(key, entry)
    }
  }

  /**
   * Looks whether identities back other services than before.
   *
   * @param accounts - the only ones that may; all when left out
   */
  servicesChanged(accounts?: readonly ServiceAccountRef[]): void {
    if (accounts === undefined) for (const entry of this.#entries.values()) this.#ensure(entry)
    else
      for (const key of new Set(accounts.map(nameKey))) {
        const entry = this.#entries.get(key)
        if (entry !== undefined) this.#ensure(entry)
      }
  }

  #ensure(entry: Entry): void {
    // The next user asks for what is missing then.
    if (entry.users === 0) return
    const services = this.#options.servicesOf(entry.account)
    const key = services.map(nameKey).sort().join(' ')
    if (entry.credential.current !== undefined && entry.services === key) return
    entry.services = key
    entry.cancelRetry?.()
    entry.cancelRetry = undefined
    this.#options.certificates.issueCertificate({ kind: 'service', serviceAccount: entry.account, services }).then(
      (certificate) => {
        entry.failures = 0
        entry.credential.set(certificate.credential())
      },
      (error: unknown) => {
        const retryMs = Math.min(RETRY.lastMs, RETRY.firstMs * 2 ** entry.failures)
        entry.failures += 1
        this.#options.logger.error(
          {
            account: nameKey(entry.account),
            reason: errorMessage(error),
            retryMs,
          },
          'a service certificate could not be issued; the last one stays in force',
        )
        entry.services = ''
        if (entry.users === 0) return
        entry.cancelRetry = this.#options.setTimer(() => {
          this.#ensure(entry)
        }, retryMs)
      },
    )
  }

  #offer(entry: Entry): void {
    const certificate = this.#options.certificates.getCertificate(this.#refOf(entry))
    if (certificate !== undefined && certificate.serialNumber !== entry.credential.current?.serialNumber)
      entry.credential.set(certificate.credential())
  }

  #keepForNow(key: string, entry: Entry): void {
    entry.cancelRetry?.()
    entry.cancelRetry = undefined
    if (this.#keeps) entry.cancelRelease = this.#options.setTimer(() => this.#release(key, entry), KEEP_MS)
    else this.#release(key, entry)
  }

  #release(key: string, entry: Entry): void {
    entry.cancelRelease?.()
    entry.credential.close()
    this.#entries.delete(key)
    this.#options.certificates.releaseCertificate(this.#refOf(entry))
  }

  /** Names the certificate of an identity; the services in it are not part of the name. */
  #refOf({ account }: Entry): Extract<CertificateRef, { kind: 'service' }> {
    return certificateRef<'service'>({ kind: 'service', serviceAccount: account, services: [] }, this.#options.domains)
  }
}
