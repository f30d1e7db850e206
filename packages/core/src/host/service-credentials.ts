import { createHash } from 'node:crypto'

import type { Credential, IdentityOptions, ProxyRef, ServiceAccountRef } from '@osm-ts/driver-api'

import type { KeyHolder } from '../certificates/key-holder.js'
import { IdentityCredentials, type IdentityCredentialsOptions } from './identity-credentials.js'
import type { StatusCondition } from './status.js'

/** Whose keys service certificates are for, at the moment. */
export interface ServiceCertificateMode {
  /** `perProxy`: each proxy that can gets one for its own key. `shared`: the proxies of an identity share one, with its key. */
  current(): 'shared' | 'perProxy'
  /** Calls back when the answer is another one. The result ends it. */
  onChange(listener: () => void): () => void
}

/** What {@link ServiceCredentials} needs. */
export interface ServiceCredentialsOptions extends IdentityCredentialsOptions {
  readonly serviceCertificates: ServiceCertificateMode
  readonly now: () => number
}

interface Session {
  /** DER of the proxy certificate. */
  readonly certificate: Uint8Array
  /** So many times it has been watched. */
  watches: number
}

const SHARED_KEY = {
  code: 'OSM_PROXY_SHARED_KEY',
  message:
    'the sidecar cannot use the key of its proxy certificate, and is sent a shared one; restart the workload to give it a sidecar that can',
} as const satisfies Omit<StatusCondition, 'since'>

/** Service certificates of sessions: for the key that a proxy has proven to hold, or with a key that proxies of its identity share. */
export class ServiceCredentials {
  readonly #options: ServiceCredentialsOptions
  readonly #identities: IdentityCredentials
  readonly #sessions = new Map<string, Session>()
  /** Sessions that are sent a key although the mesh gives each proxy a certificate of its own, and since when. */
  readonly #sharing = new Map<string, number>()

  constructor(options: ServiceCredentialsOptions) {
    this.#options = options
    this.#identities = new IdentityCredentials(options)
  }

  /** Follows announcements of the certificate manager until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#identities.run(signal)
  }

  /** See {@link IdentityCredentials.servicesChanged}. */
  servicesChanged(accounts?: readonly ServiceAccountRef[]): void {
    this.#identities.servicesChanged(accounts)
  }

  /** @param certificate - DER of the leaf with which the session has begun */
  began(session: string, certificate: Uint8Array): void {
    this.#sessions.set(session, { certificate, watches: 0 })
  }

  ended(session: string): void {
    this.#sessions.delete(session)
    this.#sharing.delete(session)
  }

  /** What operators are told about the certificate of a session. */
  conditionsOf(session: string): readonly StatusCondition[] {
    const since = this.#sharing.get(session)
    return since === undefined ? [] : [{ ...SHARED_KEY, since: new Date(since).toISOString() }]
  }

  /**
   * The certificate of a session, then each that replaces it. A session that watches again does not get the one for its key that it had: the sidecar has refused it.
   *
   * @param takes - how the driver can take it; undefined for a class that knows one way only
   * @throws OsmError with code `OSM_PROXY_KEY` for a key that is not accepted
   */
  async *watch(
    { session, commonName }: ProxyRef,
    account: ServiceAccountRef,
    signal: AbortSignal,
    takes: IdentityOptions | undefined,
  ): AsyncGenerator<Credential, void, undefined> {
    const { serviceCertificates } = this.#options
    const own = this.#sessions.get(session)
    const attempt = own === undefined ? 0 : own.watches++
    if (attempt > 0) this.#identities.releaseKept(commonName)
    for (;;) {
      const changed = new AbortController()
      const end = (): void => changed.abort()
      const unsubscribe = serviceCertificates.onChange(end)
      // AbortSignal.any would take twice as long, for each proxy that connects.
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      try {
        const perProxy = serviceCertificates.current() === 'perProxy'
        const holder = perProxy && takes?.key === 'proxy' && own ? holderOf(commonName, own, attempt) : undefined
        if (perProxy && takes !== undefined && holder === undefined) this.#sharing.set(session, this.#options.now())
        else this.#sharing.delete(session)
        yield* this.#identities.watch(account, changed.signal, holder)
      } finally {
        unsubscribe()
        signal.removeEventListener('abort', end)
      }
      if (signal.aborted || !changed.signal.aborted) return
    }
  }
}

/** A proxy certificate has one key. A proxy that returns with the same one is the same holder, and one with another certificate is not. */
function holderOf(commonName: string, { certificate }: Session, attempt: number): KeyHolder {
  const fingerprint = createHash('sha256').update(certificate).digest('base64url')
  return { id: [commonName, fingerprint, ...(attempt > 0 ? [attempt] : [])].join(' '), commonName, certificate }
}
