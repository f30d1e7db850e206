import type { ExternalAuthorization, MeshPart, TlsVersion } from '@osm-ts/driver-api/policy'

import type { MeshConfig } from '../../config/index.js'
import type { MeshDomains } from '../../identity/index.js'
import type { CrossNamespaceConfig } from '../../spec/index.js'

/** What policies depend on of the configuration. */
export interface CatalogSettings {
  readonly domains: MeshDomains
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** Kinds whose objects act on other namespaces without the consent of those. */
  readonly crossNamespace: CrossNamespaceConfig
  /** True: everybody of the mesh may call everything of the mesh, and SMI access policy is not read. */
  readonly permissive: boolean
  /** Namespaces in which a missing sidecar means plaintext; `*` stands for all. Empty under SMI policy. */
  readonly plaintextNamespaces: readonly string[]
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
  /** By which machines of other networks call workloads of the mesh's own. */
  readonly networkGateway: MeshConfig['traffic']['networkGateway']
}

/** What is fixed when the program starts. */
export interface MeshNames {
  readonly meshName: string
  /** Namespace of the control plane: objects there may concern every namespace. */
  readonly osmNamespace: string
  readonly domains: MeshDomains
}

/** Connect timeout of OSM towards upstreams that set none. */
const CONNECT_TIMEOUT_MS = 5000

/** Idle timeouts of Envoy, which OSM left as they were. */
const TCP_IDLE_TIMEOUT_MS = 3_600_000
const STREAM_IDLE_TIMEOUT_MS = 300_000

/** Name under which the host keeps the value of the authorization header of remote logging. */
export const REMOTE_LOGGING_CREDENTIAL = 'remote-logging'

/** The settings that a configuration stands for. */
export function catalogSettings(config: MeshConfig, { meshName, osmNamespace, domains }: MeshNames): CatalogSettings {
  const { sidecar, traffic, featureFlags } = config
  return {
    domains,
    osmNamespace,
    crossNamespace: traffic.crossNamespace,
    permissive: traffic.enablePermissiveTrafficPolicyMode,
    plaintextNamespaces: traffic.plaintextNamespaces,
    mesh: {
      meshName,
      logLevel: sidecar.logLevel,
      accessLog: { enabled: true, format: 'json' },
      ...observability(config),
      requestMetrics: featureFlags.enableWASMStats,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      tcpIdleTimeoutMs: traffic.tcpIdleTimeoutMs ?? sidecar.sidecarTimeoutMs ?? TCP_IDLE_TIMEOUT_MS,
      streamIdleTimeoutMs: traffic.streamIdleTimeoutMs ?? sidecar.sidecarTimeoutMs ?? STREAM_IDLE_TIMEOUT_MS,
      http1PerRequestLoadBalancing: traffic.http1PerRequestLoadBalancing,
      http2PerRequestLoadBalancing: traffic.http2PerRequestLoadBalancing,
      egressEnabled: traffic.enableEgress,
      withdrawalTimeoutMs: traffic.policyWithdrawalTimeoutMs,
      activeHealthChecks: featureFlags.enableSidecarActiveHealthChecks,
      ...(traffic.escapedSlashes === 'Keep' ? { keepsEscapedSlashes: true } : {}),
      ...(traffic.keepUnderscoreHeaders ? { keepsOtherSpellings: true } : {}),
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
    networkGateway: traffic.networkGateway,
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
