/** Codes of problems and errors of the mesh specification. */
export const specErrorCodes = {
  OSM_SPEC_FOLDER: 'a folder of the mesh specification does not exist or cannot be read',
  OSM_SPEC_FILE: 'a file of the mesh specification cannot be read, or is larger than the limit',
  OSM_SPEC_SYNTAX: 'a document is not well-formed YAML or JSON',
  OSM_SPEC_OBJECT: 'a document is not an object with apiVersion, kind and metadata.name',
  OSM_SPEC_KIND: 'the kind is not supported by the mesh',
  OSM_SPEC_KIND_INTERNAL: 'the kind is reserved for the supervisor or for users',
  OSM_SPEC_VERSION: 'the API version of the kind is not supported by the mesh',
  OSM_SPEC_NAME: 'a name or namespace is not a valid DNS name',
  OSM_SPEC_SCHEMA: 'a field is missing or has a value that the kind does not allow',
  OSM_SPEC_FIELD_UNKNOWN: 'a field is unknown for this kind and is ignored',
  OSM_SPEC_DUPLICATE: 'the same object is defined twice; the first definition is used',
  OSM_SPEC_DEPRECATED: 'a deprecated form is accepted, but not all of its features are supported',
  OSM_SPEC_ACCOUNT: 'a service account does not exist, or a source or destination has an invalid kind',
  OSM_SPEC_ADDRESS: 'an address or range is not a valid IP address or CIDR range',
  OSM_SPEC_CERT_NAME:
    'a certificate for a caller outside the mesh has the name of a service or identity of the mesh, or a wildcard',
  OSM_SPEC_CONFLICT: 'two objects, or two entries of one, conflict; the first by namespace and name is used',
  OSM_SPEC_DURATION: 'a duration is not a valid Go duration',
  OSM_SPEC_POD_ADDRESSES: 'the annotation openservicemesh.io/pod-addresses has an invalid value',
  OSM_SPEC_HEADER: 'a header name is not valid, or a header match does not have exactly one condition',
  OSM_SPEC_HOST: 'a host is not a valid host name',
  OSM_SPEC_LOG_FORMAT: 'the format of an access log is invalid, or has an unsupported command',
  OSM_SPEC_MORE: 'an object has more problems than the listed ones',
  OSM_SPEC_NAMESPACE_BOUND:
    'the objects of a namespace exceed the limits on number, length or size of expressions per namespace',
  OSM_SPEC_NO_EFFECT: 'an object, or a part of it, has no effect',
  OSM_SPEC_OBJECT_BOUND:
    'an object exceeds the limits on expressions, values, list items or combinations of them per object',
  OSM_SPEC_PRINCIPAL:
    'a client certificate is required, but no source has a name, or a name is not valid in a certificate',
  OSM_SPEC_PROTOCOL: 'the application protocol is unknown, or conflicts with another one on the same port',
  OSM_SPEC_PROVIDER: 'a MeshRootCertificate does not name exactly one provider',
  OSM_SPEC_TRUST_DOMAIN:
    'a MeshRootCertificate has another trust domain than the mesh; the trust domain of a running mesh cannot change',
  OSM_SPEC_REFERENCE: 'a referenced object does not exist, or has an unsupported kind',
  OSM_SPEC_SCRIPT: 'a script is too long or invalid',
  OSM_SPEC_REF_NOT_PERMITTED:
    'a reference to another namespace is not permitted by a ReferenceGrant there and is ignored',
  OSM_SPEC_REGEX: 'an expression is not valid RE2 syntax, is too long, or compiles to a program that is too large',
  OSM_SPEC_REGEX_COSTLY: 'an expression can be very slow in sidecars with a backtracking engine',
  OSM_SPEC_RETRY_NAMESPACE: 'a Retry is in another namespace than its source and is ignored',
  OSM_SPEC_RETRY_ON: 'a condition for retries is unknown',
  OSM_SPEC_ROUTE: 'a referenced route object or match does not exist or has an unknown kind',
  OSM_SPEC_ROUTE_FILTERS: 'filters of a rule, or filters and backends, cannot be used together',
  OSM_SPEC_ROUTE_KIND: 'a backend of a route has an unsupported kind',
  OSM_SPEC_ROUTE_VALUE: 'a rule of a route has a value or a filter that the mesh does not support',
  OSM_SPEC_SERVICE_PORT: 'ports of one Service conflict, or the target port of one does not exist in any workload',
  OSM_SPEC_SPLIT_BACKENDS: 'a TrafficSplit has no backends, or its weights are negative or all zero',
  OSM_SPEC_SPLIT_SERVICE:
    'the apex or a backend of a TrafficSplit does not exist, is in another namespace, or has no workloads in the mesh',
  OSM_SPEC_TARGET_NAMESPACE: 'a TrafficTarget is in another namespace than its destination and is ignored',
  OSM_SPEC_TARGET_RULES: 'a TrafficTarget has no rules or no sources and allows nothing',
  OSM_SPEC_WORKLOAD:
    'a Workload has neither a command nor an address, or both, or ports of a Workload or ExternalWorkload conflict',
} as const

/** A code of {@link specErrorCodes}. */
export type SpecErrorCode = keyof typeof specErrorCodes
