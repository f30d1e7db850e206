import { allKinds, type Kind, kindDefinitions, writtenKind } from '@osm-ts/core'
import type { ResourceType } from './api.js'

/** How the API server serves the kinds that programs of the mesh read or write, by kind. */
export const resourceTypes = {
  ...meshTypes(),
  Pod: namespaced('v1', 'Pod', 'pods'),
  Secret: namespaced('v1', 'Secret', 'secrets'),
  ConfigMap: namespaced('v1', 'ConfigMap', 'configmaps'),
  Event: namespaced('v1', 'Event', 'events'),
  Node: clusterScoped('v1', 'Node', 'nodes'),
  EndpointSlice: namespaced('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  Lease: namespaced('coordination.k8s.io/v1', 'Lease', 'leases'),
  Deployment: namespaced('apps/v1', 'Deployment', 'deployments'),
  StatefulSet: namespaced('apps/v1', 'StatefulSet', 'statefulsets'),
  DaemonSet: namespaced('apps/v1', 'DaemonSet', 'daemonsets'),
  ReplicaSet: namespaced('apps/v1', 'ReplicaSet', 'replicasets'),
  Job: namespaced('batch/v1', 'Job', 'jobs'),
  CronJob: namespaced('batch/v1', 'CronJob', 'cronjobs'),
  PodDisruptionBudget: namespaced('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  /** Of cert-manager; served only where that is installed. */
  CertificateRequest: namespaced('cert-manager.io/v1', 'CertificateRequest', 'certificaterequests'),
  /** Requests of kubelets for podCertificate volumes, in the version that has no deprecated field; see `podCertificateVersions`. */
  PodCertificateRequest: namespaced('certificates.k8s.io/v1', 'PodCertificateRequest', 'podcertificaterequests'),
  NetworkPolicy: namespaced('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  Role: namespaced('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  RoleBinding: namespaced('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  ClusterRole: clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles'),
  ClusterRoleBinding: clusterScoped('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings'),
  CustomResourceDefinition: clusterScoped(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
  ),
  MutatingWebhookConfiguration: clusterScoped(
    'admissionregistration.k8s.io/v1',
    'MutatingWebhookConfiguration',
    'mutatingwebhookconfigurations',
  ),
  ValidatingWebhookConfiguration: clusterScoped(
    'admissionregistration.k8s.io/v1',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
  ),
  SelfSubjectAccessReview: clusterScoped(
    'authorization.k8s.io/v1',
    'SelfSubjectAccessReview',
    'selfsubjectaccessreviews',
  ),
} as const satisfies Readonly<Record<string, ResourceType>>

/** `apiVersion` of objects of the type. */
export function apiVersionOf(type: ResourceType): string {
  return type.group === '' ? type.version : `${type.group}/${type.version}`
}

/** The same kind in another version of its group. */
export function inVersion(type: ResourceType, version: string): ResourceType {
  return { ...type, version }
}

/** How a kind of the mesh is served. */
function meshTypes(): Readonly<Record<Kind, ResourceType>> {
  const types = allKinds().map((kind) => {
    const { apiVersion, plural, scope } = kindDefinitions[kind]
    return [kind, resourceType(apiVersion, writtenKind(kind), plural, scope === 'Namespaced')]
  })
  return Object.fromEntries(types) as Record<Kind, ResourceType> // the keys are those of the table
}

function namespaced(apiVersion: string, kind: string, plural: string): ResourceType {
  return resourceType(apiVersion, kind, plural, true)
}

function clusterScoped(apiVersion: string, kind: string, plural: string): ResourceType {
  return resourceType(apiVersion, kind, plural, false)
}

function resourceType(apiVersion: string, kind: string, plural: string, isNamespaced: boolean): ResourceType {
  const slash = apiVersion.indexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  return { group, version: apiVersion.slice(slash + 1), kind, plural, namespaced: isNamespaced }
}
