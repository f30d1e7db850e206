export { caCertificateInformer, type CaSecret } from './certificates/ca-certificate-informer.js'
export { caSecretName, SecretCaStore, type SecretCaStoreOptions } from './certificates/secret-ca-store.js'
export { CertManagerAuthority, type CertManagerOptions } from './cert-manager/cert-manager-authority.js'
export type { IssuerRef } from './cert-manager/certificate-request.js'
export type * from './api.js'
export type { ClusterAccess, ClusterCredentials, ClusterTls } from './client/cluster-access.js'
export { isInCluster, type Environment } from './client/in-cluster-access.js'
export { bootstrapSecretName, uuidOfSecret } from './bootstrap-secret-name.js'
export {
  connectCluster,
  connectKubernetes,
  openKubernetes,
  type ClusterConnection,
  type ConnectOptions,
} from './connect.js'
export { kubernetesErrorCodes, type KubernetesErrorCode } from './error-codes.js'
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
export * from './machines/index.js'
export * from './pod-certificate/index.js'
export {
  isSidecarFileAnnotation,
  podSignerName,
  sidecarFileAnnotation,
  type SidecarVolume,
  uuidOfVolume,
  workloadApiVolume,
} from './sidecar-volume.js'
export * from './reviews/index.js'
export * from './source/index.js'
export * from './status/index.js'
export { WorkQueue, type WorkQueueOptions } from './work-queue.js'
export { SharedAuthority, type SharedAuthorityOptions } from './certificates/shared-authority.js'
export {
  KubernetesEndpointsProvider,
  type KubernetesEndpointsOptions,
} from './endpoints/kubernetes-endpoints-provider.js'
export { NamedEndpointsProvider, type NamedEndpointsOptions } from './endpoints/named-endpoints-provider.js'
export { KubernetesResources, type KubernetesResourcesOptions } from './resources/kubernetes-resources.js'
export { ResourceStatusWriter, type ResourceStatusOptions } from './resources/resource-status-writer.js'
export { KubernetesSecrets, type KubernetesSecretsOptions } from './secrets/kubernetes-secrets.js'
export { readSecretText } from './secrets/secret-text.js'
export type * from './crd/custom-resource-definition.js'
export { customKinds, customResourceDefinitions } from './crd/custom-resource-definitions.js'
export type { StructuralSchema } from './crd/structural-schema.js'
