import type { ProxyCommonName } from '@osm-ts/driver-api'

import type { CertificateRef, CertificateSubject } from './certificate-subject.js'
import type { Certificate, RootCertificate } from './certificate.js'
import type { Authority } from './kinds.js'

/** Why a certificate was replaced. */
export type RotationReason = 'lifetime' | 'names' | 'requested' | 'root'

/** Something that happened to certificates. It names them; anyone who needs one gets it from the manager. */
export type CertificateAnnouncement =
  | { readonly type: 'issued'; readonly certificate: CertificateRef }
  | { readonly type: 'rotated'; readonly certificate: CertificateRef; readonly reason: RotationReason }
  /** The certificate in force stays, and issuing is tried again. */
  | { readonly type: 'rotationFailed'; readonly certificate: CertificateRef; readonly code: string }
  | { readonly type: 'released'; readonly certificate: CertificateRef }
  | { readonly type: 'rootChanged'; readonly authority: Authority }
  /** The subscriber was too slow and missed that many: it has to look at everything it cares for. */
  | { readonly type: 'missed'; readonly count: number }

/** How to issue. */
export interface IssueOptions {
  /** Lifetime instead of the one that the settings give certificates of the kind. */
  readonly validityMs?: number
  /**
   * False: the certificate is handed over and forgotten, neither listed nor rotated nor announced. For a process such
   * as the injector, which issues for proxies that will connect elsewhere and would never learn when to release what it
   * keeps.
   */
  readonly keep?: boolean
}

/** The certificate of a subject. */
export type CertificateOf<S extends CertificateSubject | CertificateRef> = Certificate<S['kind']>

/**
 * Issues, keeps, rotates and releases certificates.
 */
export interface CertificateManager {
  /**
   * The certificate in force for a subject; a new one if there is none, if it has expired, or if the subject's names
   * have changed.
   *
   * Callers that request the same certificate at the same time share one issue. Where they ask with different names the
   * last one counts, and all get the certificate with its names.
   *
   * @throws OsmError with a code of `OSM_CERT_*` or `OSM_IDENTITY_*`
   */
  issueCertificate<S extends CertificateSubject>(subject: S, options?: IssueOptions): Promise<CertificateOf<S>>

  /** The certificate in force, or undefined if none was issued or it was released. */
  getCertificate<R extends CertificateRef>(ref: R): CertificateOf<R> | undefined

  /**
   * Replaces a certificate now. The one in force stays until its successor is there.
   *
   * @throws OsmError with code `OSM_CERT_UNKNOWN`, or as {@link issueCertificate}
   */
  rotateCertificate<R extends CertificateRef>(ref: R): Promise<CertificateOf<R>>

  /** The root that signs now. */
  getRootCertificate(authority: Authority): RootCertificate

  /** PEM of every root to be trusted for an authority, the one that signs first. */
  trustBundle(authority: Authority): readonly string[]

  /** Every certificate in force that is kept. */
  listCertificates(): readonly Certificate[]

  /**
   * Forgets a certificate and frees what it held. A service certificate may be issued again later; a proxy never comes
   * back: its certificate is refused by {@link claimProxyCertificate} from then on, no matter which process has issued
   * it.
   */
  releaseCertificate(ref: CertificateRef): void

  /**
   * Records that a proxy has connected with its certificate. The caller has verified that certificate against the
   * control-plane root.
   *
   * @throws OsmError with code `OSM_CERT_RELEASED`, or `OSM_IDENTITY_PROXY_NAME`
   */
  claimProxyCertificate(commonName: ProxyCommonName): void

  /**
   * Announcements from the time of the call on. Bounded: a slow subscriber loses the oldest and is told so. Ends with
   * the signal.
   */
  subscribe(signal: AbortSignal): AsyncIterable<CertificateAnnouncement>

  /**
   * Replaces certificates between half and three quarters of their life, until the signal aborts. Anyone who composes the
   * program runs this once.
   */
  run(signal: AbortSignal): Promise<void>
}
