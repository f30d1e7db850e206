import type { Certificate, RootCertificate } from './certificate.js'
import type { KeySpec } from './key-pair.js'
import type { Authority, LeafKind } from './kinds.js'

/**
 * A leaf to be signed. Names have been checked: they are what the certificate will hold, all of it and nothing else.
 */
export interface LeafRequest<K extends LeafKind = LeafKind> {
  readonly kind: K
  /** Stands in the subject if it has at most 64 characters. Always the first of {@link dnsNames} too. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
  readonly ipAddresses: readonly string[]
  /** Lifetime asked for. The certificate never outlives the root that signs it. */
  readonly validityMs: number
  readonly key: KeySpec
}

/**
 * Where certificates come from: the built-in CA, HashiCorp Vault, cert-manager, or another.
 *
 * A provider keeps no record of leaves; that is the certificate manager's part. It signs each kind under that kind's
 * authority, and must keep the two authorities apart: two CAs with different keys, whatever stands behind them.
 */
export interface CertificateProvider {
  readonly name: string
  /**
   * Issues a leaf with a fresh key.
   *
   * @throws OsmError with a code of `OSM_CERT_*`; other errors are reported as `OSM_CERT_ISSUE`. An error never carries
   * a key or token.
   */
  issue<K extends LeafKind>(request: LeafRequest<K>, signal: AbortSignal): Promise<Certificate<K>>
  /** The root that signs now. */
  rootCertificate(authority: Authority): RootCertificate
  /** PEM of every root to be trusted, the one that signs first. More than one while a root is being replaced. */
  trustBundle(authority: Authority): readonly string[]
  /** Calls back whenever the answers of the two methods above have changed. The returned function ends that. */
  onRootChange(listener: (authority: Authority) => void): () => void
}
