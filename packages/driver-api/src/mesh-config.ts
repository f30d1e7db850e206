import type { TlsVersion } from './policy/parts.js'

/** What drivers may read of `spec.sidecar`. */
export interface SidecarConfigView {
  /** Log level of sidecars. */
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warning' | 'error' | 'critical' | 'off'
  /** Connected proxies at a time in one controller; 0 means unlimited. */
  readonly maxDataPlaneConnections: number
  /** Milliseconds between resends; 0 means no periodic resend. */
  readonly configResyncIntervalMs: number
  /** Lowest TLS version that sidecars offer and accept. */
  readonly tlsMinProtocolVersion: TlsVersion
  /** Highest TLS version that sidecars offer and accept. */
  readonly tlsMaxProtocolVersion: TlsVersion
  /** In order of preference; empty means the proxy's defaults. */
  readonly cipherSuites: readonly string[]
  /** In order of preference; empty means the proxy's defaults. */
  readonly ecdhCurves: readonly string[]
  /** Where sidecars reach the application. */
  readonly localProxyMode: 'Localhost' | 'PodIP'
  /** True if sidecars answer DNS for their workload. */
  readonly localDNSProxy: boolean
}

/** What drivers may read of `spec.observability`. */
export interface ObservabilityConfigView {
  /** Log level of the control plane. */
  readonly osmLogLevel: string
  /** True while the debug server runs. */
  readonly enableDebugServer: boolean
}

/** What drivers may read of MeshConfig, resolved: defaults applied, durations in milliseconds. */
export interface MeshConfigView {
  /** Name of the mesh. */
  readonly meshName: string
  /** Trust domain of identities. */
  readonly trustDomain: string
  /** Domain of service names, `cluster.local` by default. */
  readonly clusterDomain: string
  /** Settings of sidecars. */
  readonly sidecar: SidecarConfigView
  /** Milliseconds that an open TCP connection or upgraded stream may outlive the rule that allowed it. */
  readonly policyWithdrawalTimeoutMs: number
  /** Settings of logs and debugging. */
  readonly observability: ObservabilityConfigView
  /** By the names that MeshConfig gives them. */
  readonly featureFlags: Readonly<Record<string, boolean>>
}

/** Read-only access to MeshConfig. */
export interface Configurator {
  /** The configuration in force. */
  current(): Promise<MeshConfigView>
  /** Yields the configuration in force, then every later one; changes coalesce. Ends with the signal. */
  watch(signal: AbortSignal): AsyncIterable<MeshConfigView>
}
