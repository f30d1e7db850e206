import type { RootCertificate } from './certificate.js'
import type { KeyAlgorithm, KeySpec } from './key-pair.js'
import type { Authority, LeafKind } from './kinds.js'

/** Names that a leaf holds. They have been checked: the certificate holds all of them and no others. */
export interface LeafNames<K extends LeafKind = LeafKind> {
  readonly kind: K
  /** Stands in the subject if it has at most 64 characters. Always the first of {@link dnsNames} too, except for callers outside the mesh. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
  readonly ipAddresses: readonly string[]
}

/** A leaf to be issued together with a fresh key. */
export interface LeafRequest<K extends LeafKind = LeafKind> extends LeafNames<K> {
  /** Lifetime requested. The certificate never outlives the root that signs it. */
  readonly validityMs: number
  readonly key: KeySpec
}

/** A leaf to be signed for a key that stays with its owner. */
export interface SigningRequest<K extends LeafKind = LeafKind> extends LeafNames<K> {
  /** Lifetime requested. A provider may give less, and never more. */
  readonly validityMs: number
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer
  readonly algorithm: KeyAlgorithm
  /**
   * Writes the request as PKCS#10 in PEM, for authorities that want proof of the key. Holds no secret.
   *
   * @throws OsmError with code `OSM_CERT_KEY_PROOF` if the key is not here: a provider that calls this must not say that it {@link CertificateProvider.signsPublicKeys}
   */
  csr(): string
}

/** A signed leaf, without the key that it is for. */
export interface SignedLeaf {
  /** PEM, leaf first, then intermediates; without the root. */
  readonly chain: string
  /** The root that the chain leads to. */
  readonly root: RootCertificate
  /** Milliseconds since 1970. */
  readonly notBefore: number
  /** End of the first certificate of the chain to expire; milliseconds since 1970. */
  readonly expiration: number
  /** Of the leaf, hexadecimal. */
  readonly serialNumber: string
}

/** What is wrong with a provider now. */
export interface ProviderFault {
  readonly provider: string
  readonly authority: Authority
  /** `OSM_CERT_*` */
  readonly code: string
  /** `error`: nothing, or not everything, is issued. `warning`: what is issued differs from what was requested. */
  readonly severity: 'error' | 'warning'
  readonly message: string
  /** Since when, in milliseconds since 1970. */
  readonly since: number
}

/**
 * Where certificates come from: the built-in CA, HashiCorp Vault, cert-manager, or another.
 *
 * A provider signs public keys, and never sees a private one. It keeps no record of leaves; that is the certificate manager's part. It signs each kind under that
 * kind's authority, and must keep the two authorities apart: two CAs with different keys, whatever is behind them.
 */
export interface CertificateProvider {
  readonly name: string
  /**
   * Signs a leaf for the public key of the request, with its names and no others.
   *
   * @throws OsmError with a code of `OSM_CERT_*`; other errors are reported as `OSM_CERT_ISSUE`. An error never carries
   * a key or token.
   */
  sign(request: SigningRequest, signal: AbortSignal): Promise<SignedLeaf>
  /**
   * True if the provider signs public keys for workloads whose owner proves by other means that it holds the private one. False: it wants a request signed by the
   * key, and so cannot sign for keys that stay with proxies.
   */
  readonly signsPublicKeys: boolean
  /** The root that signs now. */
  rootCertificate(authority: Authority): RootCertificate
  /** PEM of every root to be trusted, the one that signs first. More than one while a root is being replaced. */
  trustBundle(authority: Authority): readonly string[]
  /** Calls back whenever the answers of the two methods above have changed. The returned function ends that. */
  onRootChange(listener: (authority: Authority) => void): () => void
  /** What is wrong now; empty while everything that is requested is issued. Bounded. */
  faults(): readonly ProviderFault[]
}
