/** Codes of findings of `osm analyze` that the controller does not report. */
export const analyzeErrorCodes = {
  OSM_ANALYZE_CONTROLLER:
    'the controller did not respond; findings about proxies, drivers and certificates are missing',
  OSM_ANALYZE_KEY_MISPLACED: 'a label or annotation of the mesh has no effect on this kind of object',
  OSM_ANALYZE_KEY_UNKNOWN: 'a label or annotation has a prefix or name similar to those of the mesh, but is unknown',
  OSM_ANALYZE_KEY_VALUE: 'a boolean annotation has an invalid value',
  OSM_ANALYZE_NAMESPACE_INJECTION:
    'a namespace belongs to the mesh, but sidecar injection is neither enabled nor disabled for it',
  OSM_ANALYZE_NAMESPACE_MESH: 'a namespace has the label of a mesh that does not exist in the cluster',
  OSM_ANALYZE_POD_ACCOUNT: 'pods of a Service use a service account that is not the destination of any TrafficTarget',
  OSM_ANALYZE_POD_BEHAVIOR: 'pods with a sidecar use a feature that does not work with sidecars',
  OSM_ANALYZE_POD_PORT: 'a Service port has no endpoints: its named target port does not exist in the pods',
  OSM_ANALYZE_POD_WITHOUT_SIDECAR: 'pods in a namespace of the mesh cannot have a sidecar',
  OSM_ANALYZE_PROXY_REJECTED: 'a proxy rejected a part of its configuration; the last good version stays in force',
  OSM_ANALYZE_ROOT_EXPIRES: 'a trusted root of the mesh has expired or expires within 30 days',
} as const

/** A code of {@link analyzeErrorCodes}. */
export type AnalyzeErrorCode = keyof typeof analyzeErrorCodes
