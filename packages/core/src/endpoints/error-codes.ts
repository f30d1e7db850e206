/** Codes of conditions of endpoints providers, with the meaning of each. */
export const endpointsErrorCodes = {
  OSM_ENDPOINTS_PROVIDER_FAILED: 'an endpoints provider fails; its last good answers stay in force',
  OSM_ENDPOINTS_UNKNOWN: 'an endpoints provider fails and has never answered; its endpoints are unknown',
} as const

/** A code of {@link endpointsErrorCodes}. */
export type EndpointsErrorCode = keyof typeof endpointsErrorCodes
