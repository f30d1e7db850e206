/** Codes of errors of the Kubernetes client. */
export const kubernetesErrorCodes = {
  OSM_KUBERNETES_CONFIG: 'there is no usable kubeconfig, and the program does not run in a pod',
  OSM_KUBERNETES_CREDENTIALS: 'the token or certificate for the API server cannot be obtained',
  OSM_KUBERNETES_UNREACHABLE:
    'the API server did not respond, or the connection was closed before the response was complete',
  OSM_KUBERNETES_RESPONSE: 'the response of the API server is too large or unexpected',
  OSM_KUBERNETES_INVALID: 'the API server rejected a request as invalid; nothing was stored',
  OSM_KUBERNETES_UNAUTHORIZED: 'the API server does not accept the credentials, even after they were read again',
  OSM_KUBERNETES_FORBIDDEN: 'the request is forbidden: a role lacks the permission, or admission refused the request',
  OSM_KUBERNETES_NOT_FOUND: 'the object does not exist, or the API server does not serve its kind',
  OSM_KUBERNETES_CONFLICT: 'the object already exists, was changed concurrently, or another manager owns a field',
  OSM_KUBERNETES_EXPIRED: 'the resource version or continue token is too old; a new list is needed',
  OSM_KUBERNETES_THROTTLED: 'the API server throttles requests',
  OSM_KUBERNETES_FAILED: 'the API server failed to answer a request',
  OSM_KUBERNETES_QUEUE_FULL: 'a work queue is full; the key was not added',
} as const

/** A code of {@link kubernetesErrorCodes}. */
export type KubernetesErrorCode = keyof typeof kubernetesErrorCodes

/** Codes of problems with objects that are read from an API server. */
export const sourceErrorCodes = {
  OSM_SOURCE_KIND_MISSING:
    'the API server does not serve a kind that the mesh reads; objects of that kind have no effect',
  OSM_SOURCE_POD: 'a pod has an invalid setting for its sidecar',
  OSM_SOURCE_STALE: 'the API server is unavailable; the last known state stays in force',
} as const

/** A code of {@link sourceErrorCodes}. */
export type SourceErrorCode = keyof typeof sourceErrorCodes
