export { caCertificateInformer, type CaSecret } from './certificates/ca-certificate-informer.js'
export { caSecretName, SecretCaStore, type SecretCaStoreOptions } from './certificates/secret-ca-store.js'
export { CertManagerAuthority, type CertManagerOptions } from './cert-manager/cert-manager-authority.js'
export type { IssuerRef } from './cert-manager/certificate-request.js'
export type * from './api.js'
export type { ClusterAccess, ClusterCredentials, ClusterTls } from './client/cluster-access.js'
export { isInCluster, type Environment } from './client/in-cluster-access.js'
export {
  connectCluster,
  connectKubernetes,
  openKubernetes,
  type ClusterConnection,
  type ConnectOptions,
} from './connect.js'
export {
  kubernetesErrorCodes,
  type KubernetesErrorCode,
  sourceErrorCodes,
  type SourceErrorCode,
} from './error-codes.js'
export { EventRecorder, type EventObject, type EventRecorderOptions, type RecordedEvent } from './event-recorder.js'
export type * from './informer-types.js'
export { createInformer, type InformerDependencies } from './informer.js'
export { isKubernetesError, KubernetesError, type KubernetesErrorFacts } from './kubernetes-error.js'
export { LeaderElector, type LeaderElectorOptions } from './leader-elector.js'
export { eachObject, listAll } from './list-all.js'
export { instanceLabel, meshObjectLabels, nameLabel, nameValue } from './mesh-labels.js'
export { mayPass, retryAtStartup, type StartupRetryOptions } from './retry-at-startup.js'
export { apiVersionOf, inVersion, resourceTypes } from './resource-types.js'
export {
  findMounting,
  findSidecarContainer,
  sidecarContainerNames,
  type MountingContainer,
  type MountingPod,
} from './sidecar-container.js'
export { SecretTokenStore, type SecretTokenStoreOptions } from './machines/secret-token-store.js'
export {
  type PodCertificateRequest,
  podCertificateVersions,
  readPodCertificateRequest,
} from './pod-certificate/pod-certificate-request.js'
export { type KeyProof, type PodKeyFault, proveKey } from './pod-certificate/prove-key.js'
export { servedPodCertificates } from './pod-certificate/served-pod-certificates.js'
export {
  bootstrapSecretName,
  isSidecarFileAnnotation,
  podSignerName,
  sidecarFileAnnotation,
  type SidecarVolume,
  uuidOfSecret,
  uuidOfVolume,
  workloadApiVolume,
} from './sidecar-volume.js'
export { type AccessAttributes, reviewAccess } from './reviews/access-review.js'
export { type ReviewedToken, type ReviewedUser, reviewToken } from './reviews/token-review.js'
export type { ClusterChange, ClusterView } from './source/cluster-view.js'
export type { SliceEndpoint, SliceItem, SlicePort } from './source/endpoint-slice.js'
export { enrolmentSelector, ignoreLabel, isEnrolled, monitoredByLabel, type EnrolmentRule } from './source/enrolment.js'
export { KubernetesSource, type KubernetesSourceOptions, type ServedObject } from './source/kubernetes-source.js'
export type { Freshness, NamespaceChange, NamespaceScope } from './source/namespace-scope.js'
export { proxyUuidLabel, sidecarClassAnnotation, type PodItem } from './source/pod.js'
export {
  formatProbeBindings,
  probeBindingsAnnotation,
  ProbeBindingsReader,
  type ProbeBindingsReading,
} from './source/probe-annotation.js'
export type { ObjectFacts, WrittenObject } from './source/written-object.js'
export type { Condition, ObjectStatus } from './status/condition.js'
export { StatusWriter, type StatusTargets, type StatusWriterOptions } from './status/status-writer.js'
export { isObjectRefusals, summarizeRefusals, type ObjectRefusals } from './status/wanted-status.js'
export { WorkQueue, type WorkQueueOptions } from './work-queue.js'
export { SharedAuthority, type SharedAuthorityOptions } from './certificates/shared-authority.js'
export {
  KubernetesEndpointsProvider,
  type KubernetesEndpointsOptions,
} from './endpoints/kubernetes-endpoints-provider.js'
export { NamedEndpointsProvider, type NamedEndpointsOptions } from './endpoints/named-endpoints-provider.js'
export { KubernetesResources, type KubernetesResourcesOptions } from './resources/kubernetes-resources.js'
export { ResourceStatusWriter, type ResourceStatusOptions } from './resources/resource-status-writer.js'
export { KubernetesSecrets, type KubernetesSecretsOptions, readSecretText } from './secrets/kubernetes-secrets.js'
export type * from './crd/custom-resource-definition.js'
export { customKinds, customResourceDefinitions } from './crd/custom-resource-definitions.js'
export type { StructuralSchema } from './crd/structural-schema.js'
