import { type Kind, sidecarLogLevels } from '@osm-ts/core'
import type { Adjustment, Adjustments } from './structural-schema.js'

const anyNumber: Adjustment = { without: ['minimum', 'maximum'] }
const anyWord: Adjustment = { without: ['enum'] }
const optional: Adjustment = { without: ['required'] }
const anyValue: Adjustment = { without: ['type'], with: { 'x-kubernetes-preserve-unknown-fields': true } }

/** OSM left it to the mesh to refuse these, for HTTP routes and for whole hosts. */
function localRateLimit(path: string): Readonly<Record<string, Adjustment>> {
  return { [`${path}.requests`]: optional, [`${path}.unit`]: optional, [`${path}.burst`]: anyNumber }
}

/**
 * Where API servers check less than the mesh does, because the CRDs of OSM or osm-edge did, and which defaults they
 * write because those did. An object of theirs has to be stored before the mesh can say what is wrong with it.
 */
const adjustments: Partial<Record<Kind, Readonly<Record<string, Adjustment>>>> = {
  TCPRoute: { 'matches.ports[]': anyNumber },
  TrafficSplit: { 'backends[].weight': { without: ['minimum'], with: { type: 'number' } } },
  MeshConfig: {
    'clusterSet.properties[].name': optional,
    'clusterSet.properties[].value': optional,
    // YAML 1.1 reads an unquoted off as false, which is what kubectl sends.
    'sidecar.logLevel': {
      without: ['type'],
      with: { enum: [...sidecarLogLevels, false], 'x-kubernetes-preserve-unknown-fields': true },
    },
    'sidecar.maxDataPlaneConnections': anyNumber,
    'sidecar.resources.limits{}': anyValue,
    'sidecar.resources.requests{}': anyValue,
    'sidecar.tlsMinProtocolVersion': { with: { default: 'TLSv1_2' } },
    'sidecar.tlsMaxProtocolVersion': { with: { default: 'TLSv1_3' } },
    'sidecar.localProxyMode': { with: { default: 'Localhost' } },
    'traffic.inboundExternalAuthorization.statPrefix': { with: { default: 'inboundExtAuthz' } },
    'traffic.inboundExternalAuthorization.timeout': { with: { default: '1s' } },
    'observability.tracing.port': anyNumber,
    'observability.remoteLogging.port': anyNumber,
  },
  MeshRootCertificate: {
    trustDomain: { with: { default: 'cluster.local' } },
    provider: { with: { oneOf: [{ required: ['tresor'] }, { required: ['vault'] }, { required: ['certManager'] }] } },
    'provider.vault.protocol': anyWord,
  },
  IngressBackend: { 'sources[].kind': anyWord },
  AccessControl: { 'sources[].kind': anyWord },
  Retry: { 'retryPolicy.numRetries': anyNumber },
  EgressGateway: { 'global[].weight': anyNumber, 'rules[].egressGateways[].weight': anyNumber },
  UpstreamTrafficSetting: {
    'connectionSettings.http.circuitBreaking.degradedStatusCode': anyNumber,
    'rateLimit.local.tcp.connections': optional,
    'rateLimit.local.tcp.unit': optional,
    'rateLimit.local.tcp.burst': anyNumber,
    ...localRateLimit('rateLimit.local.http'),
    'httpRoutes[].path': optional,
    ...localRateLimit('httpRoutes[].rateLimit.local'),
  },
  Telemetry: { 'selector{}': anyValue, 'accessLog.openTelemetry.attributes{}': anyValue },
  ServiceExport: {
    loadBalancer: { with: { default: 'RoundRobinLoadBalancer' } },
    'rules[].portNumber': anyNumber,
  },
  ServiceImport: {
    'ports[].protocol': { with: { default: 'TCP' } },
    'ports[].port': anyNumber,
    'ports[].endpoints[].target.port': anyNumber,
    'sessionAffinityConfig.clientIP.timeoutSeconds': anyNumber,
  },
  GlobalTrafficPolicy: { lbType: { with: { default: 'Locality' } }, 'targets[].weight': anyNumber },
}

/** Paths in the spec of a kind at which API servers check something else than the mesh. */
export function adjustedPaths(kind: Kind): readonly string[] {
  return Object.keys(adjustments[kind] ?? {})
}

/** What API servers check of the spec of a kind in place of what the mesh checks. */
export function adjustmentsOf(kind: Kind): Adjustments {
  const table = adjustments[kind] ?? {}
  return (path) => (Object.hasOwn(table, path) ? table[path] : undefined)
}
