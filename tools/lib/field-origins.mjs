/**
 * Where the fields of a kind come from, as far as that is not the OSM release 1.2. The empty path is the kind itself, and
 * what a path says holds for everything below it.
 * @type {Readonly<Record<string, Readonly<Record<string, string>>>>}
 */
export const fieldOrigins = {
  AccessCert: { '': 'osm-edge' },
  AccessControl: { '': 'osm-edge' },
  Egress: { 'sources[].mtls': 'osm-edge' },
  EgressGateway: { '': 'osm-edge' },
  ExtensionService: { '': 'OSM after 1.2' },
  GlobalTrafficPolicy: { '': 'osm-edge' },
  MeshConfig: {
    clusterSet: 'osm-edge',
    'sidecar.sidecarClass': 'osm-edge',
    'sidecar.sidecarImage': 'osm-edge',
    'sidecar.sidecarWindowsImage': 'osm-edge',
    'sidecar.sidecarDrivers': 'osm-edge',
    'sidecar.sidecarDrivers[].config': 'osm-ts',
    'sidecar.sidecarTimeout': 'osm-edge',
    'sidecar.localDNSProxy': 'osm-edge',
    repoServer: 'osm-edge',
    'traffic.interceptionMode': 'osm-edge',
    'traffic.http1PerRequestLoadBalancing': 'osm-edge',
    'traffic.http2PerRequestLoadBalancing': 'osm-edge',
    'traffic.useHTTPSIngress': 'OSM before 1.2',
    'traffic.crossNamespace': 'osm-ts',
    'traffic.escapedSlashes': 'osm-ts',
    'traffic.keepUnderscoreHeaders': 'osm-ts',
    'traffic.networkGateway': 'osm-ts',
    'traffic.plaintextNamespaces': 'osm-ts',
    'traffic.policyWithdrawalTimeout': 'osm-ts',
    'traffic.tcpIdleTimeout': 'osm-ts',
    'traffic.streamIdleTimeout': 'osm-ts',
    'observability.tracing.sampledFraction': 'osm-edge',
    'observability.remoteLogging': 'osm-edge',
    'certificate.keyAlgorithm': 'osm-ts',
    'certificate.serviceCertificates': 'osm-ts',
    'featureFlags.enableAccessControlPolicy': 'osm-edge',
    'featureFlags.enableAccessCertPolicy': 'osm-edge',
    'featureFlags.enableSidecarActiveHealthChecks': 'osm-edge',
    'featureFlags.enablePluginPolicy': 'osm-edge',
    pluginChains: 'osm-edge',
  },
  ExternalWorkload: { '': 'osm-ts' },
  MeshRootCertificate: { role: 'OSM after 1.2', spiffeEnabled: 'OSM after 1.2' },
  Plugin: { '': 'osm-edge' },
  PluginChain: { '': 'osm-edge' },
  PluginConfig: { '': 'osm-edge' },
  ReferenceGrant: { '': 'osm-ts' },
  ServiceExport: { '': 'osm-edge' },
  ServiceImport: { '': 'osm-edge' },
  Telemetry: { '': 'OSM after 1.2' },
  UpstreamTrafficSetting: {
    'connectionSettings.http.circuitBreaking': 'osm-edge',
    'rateLimit.global': 'OSM after 1.2',
    'httpRoutes[].rateLimit.global': 'OSM after 1.2',
  },
}

/**
 * @param {string} kind
 * @param {string} path
 * @returns {string} the product and release whose field it was first
 */
export function originOf(kind, path) {
  const origins = fieldOrigins[kind] ?? {}
  const covering = Object.keys(origins).filter(
    (prefix) =>
      prefix === '' || path === prefix || (path.startsWith(prefix) && /^[.[{]/.test(path.slice(prefix.length))),
  )
  const closest = covering.sort((a, b) => b.length - a.length)[0]
  return closest === undefined ? 'OSM' : (origins[closest] ?? 'OSM')
}
