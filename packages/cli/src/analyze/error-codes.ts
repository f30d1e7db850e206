/** Codes of findings of `osm analyze` that the controller does not report, with the meaning of each. */
export const analyzeErrorCodes = {
  OSM_ANALYZE_CONTROLLER:
    'the controller did not answer, so that findings about proxies, drivers and certificates are missing',
  OSM_ANALYZE_KEY_MISPLACED: 'a label or annotation of the mesh has no effect where it is',
  OSM_ANALYZE_KEY_UNKNOWN: 'a label or annotation looks like one of the mesh, but the mesh reads none of that name',
  OSM_ANALYZE_KEY_VALUE: 'an annotation that switches something has a value that is neither on nor off',
  OSM_ANALYZE_NAMESPACE_INJECTION: 'a namespace is of the mesh, but nothing says whether its pods get sidecars',
  OSM_ANALYZE_NAMESPACE_MESH: 'a namespace is labelled for a mesh that the cluster does not have',
  OSM_ANALYZE_POD_ACCOUNT:
    'pods behind a Service run under a service account that no TrafficTarget has as its destination',
  OSM_ANALYZE_POD_BEHAVIOR: 'pods get a sidecar, and something that they do will not work beside it',
  OSM_ANALYZE_POD_PORT: 'a Service names a target port that none of its pods has, so that the port has no endpoints',
  OSM_ANALYZE_POD_WITHOUT_SIDECAR: 'pods of a namespace of the mesh cannot have a sidecar',
  OSM_ANALYZE_PROXY_REJECTED: 'a proxy refused a part of its configuration; the last good version of it is in force',
  OSM_ANALYZE_ROOT_EXPIRES: 'a root that the mesh trusts expires within 30 days, or has expired',
} as const

/** A code of {@link analyzeErrorCodes}. */
export type AnalyzeErrorCode = keyof typeof analyzeErrorCodes
