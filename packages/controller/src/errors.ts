/** Codes of what the validating webhook finds, and of errors of the controller program. */
export const controllerErrorCodes = {
  OSM_ADMISSION_FLAG: 'the feature flag that an object needs is off',
  OSM_ADMISSION_CLASS: 'the default sidecar class names no driver of this control plane',
  OSM_ADMISSION_DRIVER_CONFIG: 'the settings of a driver do not fit its schema',
  OSM_ADMISSION_CAPABILITY: 'the default sidecar class cannot do what an object asks for',
  OSM_ADMISSION_EMPTY: 'an empty MeshConfig would leave everything to defaults',
  OSM_CONTROLLER_CERTIFICATE: 'a certificate for a caller outside the mesh cannot be issued into its Secret',
  OSM_CONTROLLER_IMAGE: 'the image of a sidecar is older than the driver of its class serves',
  OSM_CONTROLLER_REPORT:
    'a replica cannot tell the leading controller what its sidecars refuse; it tries again, and statuses of objects lack it meanwhile',
  OSM_CONTROLLER_DUTY: 'a duty of the leading controller failed and is tried again',
} as const

/** A code of {@link controllerErrorCodes}. */
export type ControllerErrorCode = keyof typeof controllerErrorCodes
