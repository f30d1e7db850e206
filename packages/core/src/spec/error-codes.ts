/** Codes of problems and errors of the mesh specification, with the meaning of each. */
export const specErrorCodes = {
  OSM_SPEC_FOLDER: 'a folder of the mesh specification does not exist or cannot be read',
  OSM_SPEC_FILE: 'a file of the mesh specification cannot be read, or is larger than the limit',
  OSM_SPEC_SYNTAX: 'a document is not well-formed YAML or JSON',
  OSM_SPEC_OBJECT: 'a document is no object with apiVersion, kind and metadata.name',
  OSM_SPEC_KIND: 'the kind is not one that the mesh reads',
  OSM_SPEC_KIND_INTERNAL: 'the kind is written by the supervisor, not by users, or the other way round',
  OSM_SPEC_VERSION: 'the API version is not one that the mesh reads for this kind',
  OSM_SPEC_NAME: 'a name or namespace is not a valid DNS name',
  OSM_SPEC_SCHEMA: 'a field is missing or has a value that the kind does not allow',
  OSM_SPEC_FIELD_UNKNOWN: 'a field is not known for this kind and is not read',
  OSM_SPEC_DUPLICATE: 'the same object is written down twice; the first place holds',
  OSM_SPEC_DEPRECATED: 'an old form is read, but does not say all that it once said',
  OSM_SPEC_ACCOUNT: 'a service account does not exist, or a source or destination has an invalid kind',
  OSM_SPEC_ADDRESS: 'an address or range is not a valid IP address or CIDR range',
  OSM_SPEC_CERT_NAME:
    'a certificate for somebody outside the mesh names a service or identity of the mesh, or a wildcard',
  OSM_SPEC_CONFLICT: 'two objects, or two entries of one, claim the same thing; the first by namespace and name holds',
  OSM_SPEC_DURATION: 'a duration is not one that Go reads',
  OSM_SPEC_HEADER: 'a header name is not valid, or a header match does not say exactly one thing',
  OSM_SPEC_HOST: 'a host is not a valid host name',
  OSM_SPEC_LOG_FORMAT: 'the format of an access log is none, or has a command that is not taken',
  OSM_SPEC_MORE: 'an object has more problems than are listed',
  OSM_SPEC_NAMESPACE_BOUND:
    'the objects of a namespace have more expressions, or longer or larger ones, than one namespace may have',
  OSM_SPEC_NO_EFFECT: 'an object, or a part of it, says nothing that could have an effect',
  OSM_SPEC_OBJECT_BOUND:
    'an object has more expressions, values, items of a list or combinations of them, or longer or larger expressions, than one object may have',
  OSM_SPEC_PRINCIPAL:
    'clients must show a certificate, but no source says whose, or one says a name that no certificate holds',
  OSM_SPEC_PROTOCOL: 'the application protocol is not known, or clashes with another one on the same port',
  OSM_SPEC_PROVIDER: 'a MeshRootCertificate does not name exactly one provider',
  OSM_SPEC_REFERENCE: 'a referenced object does not exist, or is of a kind that is not read there',
  OSM_SPEC_SCRIPT: 'a script is too long, or cannot be read',
  OSM_SPEC_REF_NOT_PERMITTED:
    'an object refers to another namespace that does not permit it by a ReferenceGrant; the reference does not count',
  OSM_SPEC_REGEX: 'an expression is not valid RE2 syntax, is too long, or stands for too large a program',
  OSM_SPEC_REGEX_COSTLY: 'an expression can take very long in sidecars whose engine backtracks',
  OSM_SPEC_RETRY_NAMESPACE: 'a Retry is in another namespace than its source and is ignored',
  OSM_SPEC_RETRY_ON: 'a condition for retries is not known',
  OSM_SPEC_ROUTE: 'a referenced route object, or a match inside it, does not exist or is of an unknown kind',
  OSM_SPEC_SERVICE_PORT: 'ports of one Service clash, or one leads to a port that no workload has',
  OSM_SPEC_SPLIT_BACKENDS: 'a TrafficSplit has no backends, or its weights are negative or all zero',
  OSM_SPEC_SPLIT_SERVICE: 'the apex or a backend of a TrafficSplit does not exist, or lies in another namespace',
  OSM_SPEC_TARGET_NAMESPACE: 'a TrafficTarget is in another namespace than its destination and is ignored',
  OSM_SPEC_TARGET_RULES: 'a TrafficTarget has no rules or no sources and allows nothing',
  OSM_SPEC_WORKLOAD: 'a Workload has neither a command nor an address, or both, or its ports clash',
} as const

/** A code of {@link specErrorCodes}. */
export type SpecErrorCode = keyof typeof specErrorCodes
