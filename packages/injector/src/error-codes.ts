/** Codes of errors of injection, with the meaning of each. */
export const injectorErrorCodes = {
  OSM_INJECT_ANNOTATION: 'an annotation of a pod or namespace does not have the form that it must have',
  OSM_INJECT_CLASS:
    'a pod or namespace asks for a sidecar class that MeshConfig does not allow or that no driver serves',
  OSM_INJECT_POD:
    'a pod cannot have a sidecar as it stands: a name, port or user is taken, or the object is too large or no pod',
  OSM_INJECT_IMAGE:
    'no image is known for the sidecar or for the init container, or that of the sidecar is too old for its driver',
  OSM_INJECT_MODE: 'MeshConfig asks for a way of interception that is not available',
  OSM_INJECT_INTERCEPTION:
    'what MeshConfig and the annotations of a pod say about interception makes no rules together',
  OSM_INJECT_PATCH: 'the patch of a driver holds something that cannot be said of a pod',
  OSM_INJECT_SECRET_FORBIDDEN: 'the injector may not write Secrets in the namespace of the pod (yet)',
  OSM_INJECT_SECRET: 'the bootstrap Secret of a sidecar could not be written',
  OSM_INJECT_RATE: 'more pods are injected than one namespace, or all of them together, may have in this time',
  OSM_INJECT_NOT_READY: 'the injector does not have what it needs to decide yet: namespaces or MeshConfig',
  OSM_INJECT_TIMEOUT: 'the API server would not have waited for the answer any longer',
  OSM_INJECT_FAULT: 'injection failed for a reason that is no fault of the pod; the log has more',
} as const

/** A code of {@link injectorErrorCodes}. */
export type InjectorErrorCode = keyof typeof injectorErrorCodes
