/** Codes of conditions of endpoints providers, with the meaning of each. */
export const endpointsErrorCodes = {
  OSM_ENDPOINTS_PROVIDER_FAILED: 'an endpoints provider fails; its last good answers stay in force',
  OSM_ENDPOINTS_UNKNOWN: 'an endpoints provider fails and has never answered; its endpoints are unknown',
  OSM_ENDPOINTS_ANSWER: 'an endpoints provider published something invalid, which is not used',
  OSM_ENDPOINTS_ADDRESS:
    'an endpoints provider published an address that it must not, such as one of a Service, of loopback or of cloud metadata; it is not used',
  OSM_ENDPOINTS_BOUND:
    'an endpoints provider published more services or instances, or has more objects, than a mesh accepts',
  OSM_ENDPOINTS_RESOURCE: "an object of an endpoints provider's kind does not conform to the schema of the kind",
  OSM_ENDPOINTS_UNRESOLVED: 'an endpoints provider cannot find what one of its objects selects',
  OSM_ENDPOINTS_KIND_MISSING: 'the API server does not serve a kind of an endpoints provider',
} as const

/** A code of {@link endpointsErrorCodes}. */
export type EndpointsErrorCode = keyof typeof endpointsErrorCodes
