import type { ExternalAuthorization, MeshPart, TlsVersion } from '@osm-ts/driver-api'

import type { MeshConfig } from '../../config/index.js'
import type { MeshDomains } from '../../identity/index.js'

/** What policies depend on of the configuration. */
export interface CatalogSettings {
  readonly domains: MeshDomains
  /** True: everybody of the mesh may call everything of the mesh, and SMI access policy is not read. */
  readonly permissive: boolean
  readonly mesh: Omit<MeshPart, 'kind' | 'id'>
  readonly tls: {
    readonly minVersion: TlsVersion
    readonly maxVersion: TlsVersion
    readonly cipherSuites: readonly string[]
    readonly ecdhCurves: readonly string[]
  }
  readonly activeHealthChecks: boolean
  readonly localProxyMode: 'Localhost' | 'PodIP'
  /** Sidecars of redirected workloads answer DNS. */
  readonly localDNSProxy: MeshConfig['sidecar']['localDNSProxy']
  /** True: Retry objects count. */
  readonly retries: boolean
  /** True: IngressBackend objects count. */
  readonly ingressBackends: boolean
  /** True: AccessControl objects count. */
  readonly accessControls: boolean
  /** True: Egress objects count. */
  readonly egressPolicies: boolean
  /** True: plugins count. */
  readonly plugins: boolean
  /** Class of sidecars that name none. */
  readonly sidecarClass: string
  readonly externalAuthorization: ExternalAuthorization | undefined
  /** Key of the own cluster among others; empty without any. */
  readonly cluster: string
}

/** What is fixed when the program starts. */
export interface MeshNames {
  readonly meshName: string
  readonly domains: MeshDomains
}

/** Connect timeout of OSM towards upstreams that set none. */
const CONNECT_TIMEOUT_MS = 5000

/** Name under which the host keeps the value of the authorization header of remote logging. */
export const REMOTE_LOGGING_CREDENTIAL = 'remote-logging'

/** The settings that a configuration stands for. */
export function catalogSettings(config: MeshConfig, { meshName, domains }: MeshNames): CatalogSettings {
  const { sidecar, traffic, featureFlags } = config
  return {
    domains,
    permissive: traffic.enablePermissiveTrafficPolicyMode,
    mesh: {
      meshName,
      logLevel: sidecar.logLevel,
      accessLog: { enabled: true, format: 'json' },
      ...observability(config),
      requestMetrics: featureFlags.enableWASMStats,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      idleTimeoutMs: sidecar.sidecarTimeoutMs,
      http1PerRequestLoadBalancing: traffic.http1PerRequestLoadBalancing,
      http2PerRequestLoadBalancing: traffic.http2PerRequestLoadBalancing,
      egressEnabled: traffic.enableEgress,
      withdrawalTimeoutMs: traffic.policyWithdrawalTimeoutMs,
      activeHealthChecks: featureFlags.enableSidecarActiveHealthChecks,
    },
    tls: {
      minVersion: sidecar.tlsMinProtocolVersion,
      maxVersion: sidecar.tlsMaxProtocolVersion,
      cipherSuites: sidecar.cipherSuites,
      ecdhCurves: sidecar.ecdhCurves,
    },
    activeHealthChecks: featureFlags.enableSidecarActiveHealthChecks,
    localProxyMode: sidecar.localProxyMode,
    localDNSProxy: sidecar.localDNSProxy,
    retries: featureFlags.enableRetryPolicy,
    ingressBackends: featureFlags.enableIngressBackendPolicy,
    accessControls: featureFlags.enableAccessControlPolicy,
    egressPolicies: featureFlags.enableEgressPolicy,
    plugins: featureFlags.enablePluginPolicy,
    sidecarClass: sidecar.sidecarClass,
    externalAuthorization: traffic.inboundExternalAuthorization,
    cluster: clusterKey(config.clusterSet),
  }
}

function observability({
  observability: { tracing, remoteLogging },
}: MeshConfig): Pick<MeshPart, 'tracing' | 'remoteLogging'> {
  if (remoteLogging === undefined) return tracing === undefined ? {} : { tracing }
  // The header's value is a secret: the policy names it, the host hands it out.
  const { authorization, ...rest } = remoteLogging
  return {
    ...(tracing === undefined ? {} : { tracing }),
    remoteLogging: {
      ...rest,
      ...(authorization === '' ? {} : { authorization: { kind: 'egress', name: REMOTE_LOGGING_CREDENTIAL } }),
    },
  }
}

/** `<region>/<zone>/<group>/<cluster>`, as ServiceImports name clusters. */
function clusterKey({ region, zone, group, cluster }: MeshConfig['clusterSet']): string {
  return cluster === undefined ? '' : [region ?? '', zone ?? '', group ?? '', cluster].join('/')
}
