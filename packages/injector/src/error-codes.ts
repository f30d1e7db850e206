/** Codes of errors of injection. */
export const injectorErrorCodes = {
  OSM_INJECT_ANNOTATION: 'an annotation of a pod or namespace is invalid',
  OSM_INJECT_CLASS:
    'the selected sidecar class is not allowed by MeshConfig, has no driver, or does not support the configured source of keys or certificates',
  OSM_INJECT_POD:
    'a pod cannot get a sidecar: a name, port or user is already in use, or the object is too large or not a pod',
  OSM_INJECT_IMAGE:
    'no image is configured for the sidecar or the init container, or the sidecar image is too old for its driver',
  OSM_INJECT_MODE: 'MeshConfig has an interception mode that is not available',
  OSM_INJECT_INTERCEPTION: 'the interception settings of MeshConfig and the annotations of a pod are inconsistent',
  OSM_INJECT_PATCH: 'the patch of a driver cannot be applied to a pod',
  OSM_INJECT_SECRET_FORBIDDEN:
    'the injector has no permission to write Secrets in the namespace of the pod, or not yet',
  OSM_INJECT_SECRET: 'the bootstrap Secret of a sidecar could not be written',
  OSM_INJECT_RATE: 'the injection rate of one namespace, or of all namespaces, is above its limit',
  OSM_INJECT_POD_CERTIFICATES:
    'osm.proxyIdentity is podCertificate, but the API server does not serve PodCertificateRequests',
  OSM_INJECT_NOT_READY: 'the injector has not read namespaces or MeshConfig yet',
  OSM_INJECT_TIMEOUT: 'the timeout of the API server was exceeded',
  OSM_INJECT_FAULT: 'injection failed for a reason unrelated to the pod; see the log',
} as const

/** A code of {@link injectorErrorCodes}. */
export type InjectorErrorCode = keyof typeof injectorErrorCodes
