import type { MeshConfigView } from '@osm-ts/driver-api'

import type { MeshDomains } from '../identity/index.js'
import type { MeshConfig } from './mesh-config.js'

/** What drivers get to see of a configuration. */
export function meshConfigView(
  { sidecar, traffic, observability, featureFlags }: MeshConfig,
  { meshName, domains }: { readonly meshName: string; readonly domains: MeshDomains },
): MeshConfigView {
  return {
    meshName,
    trustDomain: domains.trustDomain,
    clusterDomain: domains.clusterDomain,
    sidecar: {
      logLevel: sidecar.logLevel,
      maxDataPlaneConnections: sidecar.maxDataPlaneConnections,
      configResyncIntervalMs: sidecar.configResyncIntervalMs,
      tlsMinProtocolVersion: sidecar.tlsMinProtocolVersion,
      tlsMaxProtocolVersion: sidecar.tlsMaxProtocolVersion,
      cipherSuites: sidecar.cipherSuites,
      ecdhCurves: sidecar.ecdhCurves,
      localProxyMode: sidecar.localProxyMode,
      localDNSProxy: sidecar.localDNSProxy.enable,
    },
    policyWithdrawalTimeoutMs: traffic.policyWithdrawalTimeoutMs,
    observability: {
      osmLogLevel: observability.osmLogLevel,
      enableDebugServer: observability.enableDebugServer,
    },
    featureFlags,
  }
}

/** The configuration as debug pages and support bundles may show it. */
export function withoutSecrets(config: MeshConfig): MeshConfig {
  const { remoteLogging } = config.observability
  if (remoteLogging === undefined || remoteLogging.authorization === '') return config
  const masked = { ...remoteLogging, authorization: '[redacted]' }
  return { ...config, observability: { ...config.observability, remoteLogging: masked } }
}
