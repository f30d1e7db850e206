/** Codes of findings of the validating webhook and of errors of the controller. */
export const controllerErrorCodes = {
  OSM_ADMISSION_FLAG: 'the feature flag that an object needs is disabled',
  OSM_ADMISSION_CLASS: 'this control plane has no driver for the default sidecar class',
  OSM_ADMISSION_DRIVER_CONFIG: 'the settings of a driver do not conform to its schema',
  OSM_ADMISSION_CAPABILITY: 'the default sidecar class does not support a feature that an object needs',
  OSM_ADMISSION_EMPTY: 'an empty MeshConfig would reset all settings to their defaults',
  OSM_CONTROLLER_CERTIFICATE: 'a certificate for a caller outside the mesh cannot be issued or written to its Secret',
  OSM_CONTROLLER_IMAGE: 'the image of a sidecar is older than the driver of its class supports',
  OSM_CONTROLLER_POD_CERTIFICATES:
    'osm.proxyIdentity is podCertificate, but the API server does not serve PodCertificateRequests',
  OSM_CONTROLLER_REPORT:
    'a replica cannot report rejected configurations to the leader; it retries, and object statuses are incomplete until then',
  OSM_CONTROLLER_DUTY: 'a task of the leader failed and is retried',
} as const

/** A code of {@link controllerErrorCodes}. */
export type ControllerErrorCode = keyof typeof controllerErrorCodes
