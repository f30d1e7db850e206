/** Codes of what the validating webhook finds, and of errors of the controller program. */
export const controllerErrorCodes = {
  OSM_ADMISSION_FLAG: 'the feature flag that an object needs is disabled',
  OSM_ADMISSION_CLASS: 'this control plane has no driver for the default sidecar class',
  OSM_ADMISSION_DRIVER_CONFIG: 'the settings of a driver are not valid for its schema',
  OSM_ADMISSION_CAPABILITY: 'the default sidecar class does not support a feature that an object needs',
  OSM_ADMISSION_EMPTY: 'an empty MeshConfig would reset all settings to their defaults',
  OSM_CONTROLLER_CERTIFICATE: 'a certificate for a caller outside the mesh cannot be issued into its Secret',
  OSM_CONTROLLER_IMAGE: 'the image of a sidecar is older than the driver of its class supports',
  OSM_CONTROLLER_POD_CERTIFICATES:
    'the API server serves no PodCertificateRequests, and osm.proxyIdentity is podCertificate',
  OSM_CONTROLLER_REPORT:
    'a replica cannot tell the leading controller what its sidecars refuse; it tries again, and statuses of objects lack it meanwhile',
  OSM_CONTROLLER_DUTY: 'a task of the leading controller failed and is retried',
} as const

/** A code of {@link controllerErrorCodes}. */
export type ControllerErrorCode = keyof typeof controllerErrorCodes
