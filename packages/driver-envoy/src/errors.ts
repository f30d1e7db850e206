/** Codes of this driver's errors and log entries, with the meaning of each. */
export const envoyErrorCodes = {
  OSM_ENVOY_XDS_REJECTED: 'a proxy refused a response; the refused resources are not sent again until they change',
  OSM_ENVOY_NODE_MISMATCH: 'a proxy sent a node id that is not the common name of its certificate',
  OSM_ENVOY_SECRET_DENIED: 'a proxy requested a secret of another proxy; the response says that it does not exist',
  OSM_ENVOY_REQUEST_INVALID: 'a proxy sent a request that exceeds a limit of the xDS server',
  OSM_ENVOY_TRANSLATION: 'a policy could not be translated; the last good configuration stays in force',
  OSM_ENVOY_TRUST: 'the certificate or the roots of the control plane cannot be used',
} as const

/** A code of {@link envoyErrorCodes}. */
export type EnvoyErrorCode = keyof typeof envoyErrorCodes
