export { CaMaterial, MemoryCaStore, type CaStore } from './ca-store.js'
export {
  type CertificateAnnouncement,
  type CertificateManager,
  type CertificateOf,
  type IssueOptions,
  type RotationReason,
} from './certificate-manager.js'
export type {
  CertificateProvider,
  LeafRequest,
  ProviderFault,
  SignedLeaf,
  SigningRequest,
} from './certificate-provider.js'
export { certificateSettings, defaultCertificateSettings, type CertificateSettings } from './certificate-settings.js'
export {
  certificateNames,
  certificateRef,
  type CertificateNames,
  type CertificateRef,
  type CertificateSubject,
  type ControlPlaneSubject,
  type ProxySubject,
  type ServiceSubject,
} from './certificate-subject.js'
export {
  Certificate,
  type CertificateFields,
  type ControlPlaneCertificate,
  pemCertificates,
  type ProxyCertificate,
  type RootCertificate,
  type ServiceCertificate,
} from './certificate.js'
export { systemClock, type Clock, type Random } from './clock.js'
export { certificateErrorCodes, type CertificateErrorCode } from './errors.js'
export { writeKeyRequest } from './certificate-request.js'
export { Semaphore } from './semaphore.js'
export { FileCaStore, type CaFileSystem } from './file-ca-store.js'
export { DerError, DerReader } from './der-reader.js'
export { issueLeaf, signingRequest } from './issue-leaf.js'
export { generateKeyPairFor, type KeyAlgorithm, type KeyPair, type KeySpec } from './key-pair.js'
export { authorityOf, AUTHORITIES, type Authority, type CertificateKind, type LeafKind } from './kinds.js'
export { MeshCertificateManager, type CertificateManagerOptions } from './mesh-certificate-manager.js'
export { RootBundle } from './root-bundle.js'
export { TresorProvider, type TresorOptions } from './tresor-provider.js'
export { PeerVerifier, type PeerVerifierOptions, type VerifiedPeer } from './verify.js'
export { LeafWriter, type Issuer, type LeafFields, type WrittenCertificate } from './x509.js'
export { generateRoot } from './certificate-authority.js'
export type { KeyHolder } from './key-holder.js'
export { LeafKeys } from './leaf-keys.js'
export { RemoteProvider, type RemoteAuthority, type RemoteProviderOptions } from './remote-provider.js'
export {
  type ConnectedSidecars,
  rootFingerprint,
  StagedProvider,
  type TrustPlan,
  type TrustState,
} from './staged-provider.js'
export { SpiffeBundle, type SpiffeBundleDocument } from './spiffe-bundle.js'
export { JoinedRootsProvider, type OtherRoots } from './joined-roots-provider.js'
export { haveCommonKey } from './root-keys.js'
export { rootTexts } from './root-texts.js'
export { selfSignedRoots } from './issued-chain.js'
export { SplitProvider } from './split-provider.js'
export { issuanceLog, type IssuanceLog } from './issuance-log.js'
