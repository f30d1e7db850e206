/** Codes of conditions of endpoints providers. */
export const endpointsErrorCodes = {
  OSM_ENDPOINTS_PROVIDER_FAILED: 'an endpoints provider fails; its last good answers stay in force',
  OSM_ENDPOINTS_UNKNOWN: 'an endpoints provider fails and has never responded; its endpoints are unknown',
  OSM_ENDPOINTS_ANSWER: 'an endpoints provider published invalid data, which is ignored',
  OSM_ENDPOINTS_ADDRESS:
    'an endpoints provider published a forbidden address, such as a Service, loopback or cloud metadata address; it is ignored',
  OSM_ENDPOINTS_BOUND: 'an endpoints provider exceeds the limit on services, instances or objects',
  OSM_ENDPOINTS_RESOURCE: 'an object of an endpoints provider does not conform to the schema of its kind',
  OSM_ENDPOINTS_UNRESOLVED: 'an endpoints provider cannot find the resources that an object selects',
  OSM_ENDPOINTS_KIND_MISSING: 'the API server does not serve a resource kind of an endpoints provider',
} as const

/** A code of {@link endpointsErrorCodes}. */
export type EndpointsErrorCode = keyof typeof endpointsErrorCodes
