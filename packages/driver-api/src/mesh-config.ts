import type { TlsVersion } from './policy/parts.js'

/** The fields of `spec.sidecar` for drivers. */
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

/** The fields of `spec.observability` for drivers. */
export interface ObservabilityConfigView {
  /** Log level of the control plane. */
  readonly osmLogLevel: string
  /** True while the debug server runs. */
  readonly enableDebugServer: boolean
}

/** The fields of MeshConfig for drivers, with defaults applied and durations in milliseconds. */
export interface MeshConfigView {
  /** Name of the mesh. */
  readonly meshName: string
  /** Trust domain of identities. */
  readonly trustDomain: string
  /** Domain of service names, `cluster.local` by default. */
  readonly clusterDomain: string
  /** Settings of sidecars. */
  readonly sidecar: SidecarConfigView
  /** Milliseconds that an open TCP connection or upgraded stream may continue after the removal of the rule that allowed it. */
  readonly policyWithdrawalTimeoutMs: number
  /** Settings of logs and debugging. */
  readonly observability: ObservabilityConfigView
  /** Feature flags by their names in MeshConfig. */
  readonly featureFlags: Readonly<Record<string, boolean>>
}

/** Read-only access to MeshConfig. */
export interface Configurator {
  /** The current configuration. */
  current(): Promise<MeshConfigView>
  /** Yields the current configuration, then every later one; changes coalesce. Ends with the signal. */
  watch(signal: AbortSignal): AsyncIterable<MeshConfigView>
}
