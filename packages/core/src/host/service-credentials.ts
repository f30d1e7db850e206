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

const SHARED_KEY = {
  code: 'OSM_PROXY_SHARED_KEY',
  message:
    'the sidecar cannot use the key of its proxy certificate, and is sent a shared one; restart the workload to give it a sidecar that can',
} as const satisfies Omit<StatusCondition, 'since'>

/** Service certificates of sessions: for the key that a proxy has proven to hold, or with a key that proxies of its identity share. */
export class ServiceCredentials {
  readonly #options: ServiceCredentialsOptions
  readonly #identities: IdentityCredentials
  /** DER of the proxy certificates of sessions. */
  readonly #certificates = new Map<string, Uint8Array>()
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
    this.#certificates.set(session, certificate)
  }

  ended(session: string): void {
    this.#certificates.delete(session)
    this.#sharing.delete(session)
  }

  /** What operators are told about the certificate of a session. */
  conditionsOf(session: string): readonly StatusCondition[] {
    const since = this.#sharing.get(session)
    return since === undefined ? [] : [{ ...SHARED_KEY, since: new Date(since).toISOString() }]
  }

  /**
   * The certificate of a session, then each that replaces it.
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
    for (;;) {
      const changed = new AbortController()
      const unsubscribe = serviceCertificates.onChange(() => changed.abort())
      try {
        const perProxy = serviceCertificates.current() === 'perProxy'
        const certificate = perProxy && takes?.key === 'proxy' ? this.#certificates.get(session) : undefined
        const holder = certificate && holderOf(commonName, certificate)
        if (perProxy && takes !== undefined && holder === undefined) this.#sharing.set(session, this.#options.now())
        else this.#sharing.delete(session)
        yield* this.#identities.watch(account, AbortSignal.any([signal, changed.signal]), holder)
      } finally {
        unsubscribe()
      }
      if (signal.aborted || !changed.signal.aborted) return
    }
  }
}

/** A proxy certificate has one key. A proxy that returns with the same one is the same holder, and one with another certificate is not. */
function holderOf(commonName: string, certificate: Uint8Array): KeyHolder {
  const fingerprint = createHash('sha256').update(certificate).digest('base64url')
  return { id: `${commonName} ${fingerprint}`, commonName, certificate }
}
