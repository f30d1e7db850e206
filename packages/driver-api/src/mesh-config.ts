import type { TlsVersion } from './policy/parts.js'

/** What drivers may read of MeshConfig, resolved: defaults applied, durations in milliseconds. */
export interface MeshConfigView {
  readonly meshName: string
  readonly trustDomain: string
  readonly clusterDomain: string
  readonly sidecar: {
    readonly logLevel: 'trace' | 'debug' | 'info' | 'warning' | 'error' | 'critical' | 'off'
    /** 0 means unlimited. */
    readonly maxDataPlaneConnections: number
    /** 0 means no periodic resend. */
    readonly configResyncIntervalMs: number
    readonly tlsMinProtocolVersion: TlsVersion
    readonly tlsMaxProtocolVersion: TlsVersion
    readonly cipherSuites: readonly string[]
    readonly ecdhCurves: readonly string[]
    readonly localProxyMode: 'Localhost' | 'PodIP'
    readonly localDNSProxy: boolean
  }
  readonly observability: { readonly osmLogLevel: string; readonly enableDebugServer: boolean }
  readonly featureFlags: Readonly<Record<string, boolean>>
}

/** Read-only access to MeshConfig. */
export interface Configurator {
  /** The configuration in force. */
  current(): Promise<MeshConfigView>
  /** Yields the configuration in force, then every later one; changes coalesce. Ends with the signal. */
  watch(signal: AbortSignal): AsyncIterable<MeshConfigView>
}
