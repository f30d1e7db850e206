/** Codes of errors of osm-bootstrap, osm-preinstall and osm-cleanup. */
export const bootstrapErrorCodes = {
  OSM_BOOTSTRAP_PRESET_MISSING: 'a ConfigMap with a preset is missing, or lacks its key',
  OSM_BOOTSTRAP_PRESET_INVALID: 'a preset is not a JSON object',
  OSM_BOOTSTRAP_CRD_NAMES: 'a CustomResourceDefinition cannot be served because another one has taken one of its names',
  OSM_BOOTSTRAP_CRD_PENDING: 'the API server does not serve a CustomResourceDefinition yet',
  OSM_BOOTSTRAP_CRD_FOREIGN:
    'a CustomResourceDefinition belongs to another tool and lacks the version that the mesh reads; it was not changed',
  OSM_BOOTSTRAP_TERMINATING: 'an object is being deleted; it is recreated after the deletion',
  OSM_BOOTSTRAP_CONTESTED: 'an object changes so often that an update cannot be applied',
  OSM_BOOTSTRAP_ROOT: 'the Secret with the root of the control plane is missing or contains no CA certificate',
} as const

/** A code of {@link bootstrapErrorCodes}. */
export type BootstrapErrorCode = keyof typeof bootstrapErrorCodes
