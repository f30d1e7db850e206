import type { JsonValue, TlsVersion } from '@osm-ts/driver-api/policy'

import type { NetworkGateway } from '../endpoints/endpoint.js'
import type { CrossNamespaceConfig } from '../spec/reference-grant.js'
import type { featureFlagNames, MeshConfigSpec } from '../spec/schema/mesh-config.js'
import type { pluginChainNames } from '../spec/schema/plugin.js'

/** Images of one sidecar class. Empty where nothing is said. */
export interface SidecarImages {
  readonly sidecarImage: string
  readonly sidecarWindowsImage: string
  readonly initContainerImage: string
}

/** One entry of `sidecarDrivers`. */
export interface DriverEntry extends SidecarImages {
  /** Sidecar class, in lower case. */
  readonly name: string
  readonly proxyServerPort: number | undefined
  /** Settings of the driver, for its own schema to check. */
  readonly config: JsonValue
}

/** `spec.sidecar`, resolved. */
export interface SidecarConfig {
  readonly enablePrivilegedInitContainer: boolean
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warning' | 'error' | 'critical' | 'off'
  /** 0 means no limit. */
  readonly maxDataPlaneConnections: number
  /** Default class, in lower case. */
  readonly sidecarClass: string
  /** What is at the top of `spec.sidecar`; for the default class only. */
  readonly images: SidecarImages
  /** What stands under the names that OSM gave them; for class envoy only. */
  readonly envoyImages: Pick<SidecarImages, 'sidecarImage' | 'sidecarWindowsImage'>
  readonly drivers: readonly DriverEntry[]
  readonly resources: {
    readonly limits: Readonly<Record<string, string>>
    readonly requests: Readonly<Record<string, string>>
  }
  /** 0 means no periodic resend; otherwise at least 30 s. */
  readonly configResyncIntervalMs: number
  /** Milliseconds of idleness after which connections and requests are ended; undefined leaves each kind its own default. */
  readonly sidecarTimeoutMs: number | undefined
  /** Never below TLSv1_2. */
  readonly tlsMinProtocolVersion: TlsVersion
  /** Below the minimum: no traffic between sidecars. */
  readonly tlsMaxProtocolVersion: TlsVersion
  readonly cipherSuites: readonly string[]
  readonly ecdhCurves: readonly string[]
  readonly localProxyMode: 'Localhost' | 'PodIP'
  readonly localDNSProxy: { readonly enable: boolean; readonly upstreams: readonly string[] }
}

/** `spec.traffic`, resolved. */
export interface TrafficConfig {
  readonly interceptionMode: 'iptables' | 'ebpf' | 'none'
  readonly enableEgress: boolean
  readonly outboundIPRangeExclusionList: readonly string[]
  readonly outboundIPRangeInclusionList: readonly string[]
  readonly outboundPortExclusionList: readonly number[]
  readonly inboundPortExclusionList: readonly number[]
  readonly networkInterfaceExclusionList: readonly string[]
  readonly http1PerRequestLoadBalancing: boolean
  readonly http2PerRequestLoadBalancing: boolean
  readonly enablePermissiveTrafficPolicyMode: boolean
  /** Namespaces in which a missing sidecar means plaintext; `*` stands for all. Empty unless permissive mode is on. */
  readonly plaintextNamespaces: readonly string[]
  /** By which machines of other networks call workloads. Absent: they connect to the workloads themselves. */
  readonly networkGateway: NetworkGateway | undefined
  /** Absent: requests are not authorized outside the mesh. */
  readonly inboundExternalAuthorization: ExternalAuthorizationConfig | undefined
  /** Kinds whose objects act on other namespaces without the consent of those. */
  readonly crossNamespace: CrossNamespaceConfig
  /** What becomes of requests whose path holds `%2F` or `%5C`: answered 400, or forwarded as they were sent. */
  readonly escapedSlashes: 'Reject' | 'Keep'
  /** True: headers that differ from those that rules name in `_` for `-` alone reach workloads. */
  readonly keepUnderscoreHeaders: boolean
  /** Longest time that an open connection outlives the access that let it in. */
  readonly policyWithdrawalTimeoutMs: number
  /** Milliseconds of idleness after which a TCP connection is closed; 0 for never; undefined where only `sidecarTimeout`, or nothing, is set. */
  readonly tcpIdleTimeoutMs: number | undefined
  /** The same of an HTTP request that is under way. */
  readonly streamIdleTimeoutMs: number | undefined
}

/** Where inbound requests are authorized. */
export interface ExternalAuthorizationConfig {
  readonly host: string
  readonly port: number
  readonly statPrefix: string
  readonly timeoutMs: number
  readonly failureModeAllow: boolean
}

/** Something that takes spans or records over HTTP. */
export interface CollectorConfig {
  readonly host: string
  readonly port: number
  readonly endpoint: string
  readonly sampledFraction: number
}

/** Where spans go, and in which form. */
export interface TracingConfig extends CollectorConfig {
  readonly provider: 'zipkin' | 'opentelemetry'
}

/** Where records of requests go. */
export interface RemoteLoggingConfig extends CollectorConfig {
  readonly level: 0 | 1 | 2
  /** Value of the `authorization` header. Secret. */
  readonly authorization: string
}

/** `spec.observability`, resolved. */
export interface ObservabilityConfig {
  readonly osmLogLevel: OsmLogLevel
  readonly enableDebugServer: boolean
  /** Absent: off. */
  readonly tracing: TracingConfig | undefined
  /** Absent: off. */
  readonly remoteLogging: RemoteLoggingConfig | undefined
}

/** Log levels of the control plane. */
export const osmLogLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'panic', 'disabled'] as const
/** A log level of the control plane. */
export type OsmLogLevel = (typeof osmLogLevels)[number]

/** `spec.certificate`, resolved. */
export interface CertificateConfig {
  readonly serviceCertValidityMs: number
  readonly key: { readonly algorithm: 'ECDSA' } | { readonly algorithm: 'RSA'; readonly bits: number }
  /** `perProxy`: for the key of each proxy that can use it. `shared`: with a key that the proxies of an identity share. */
  readonly serviceCertificates: 'shared' | 'perProxy'
  /** Absent: no certificate for an ingress gateway. */
  readonly ingressGateway:
    | {
        readonly subjectAltNames: readonly string[]
        readonly validityMs: number
        readonly secret: { readonly name: string; readonly namespace: string }
      }
    | undefined
}

/** Name of a feature flag. */
export type FeatureFlag = (typeof featureFlagNames)[number]
/** Name of a chain of script-running sidecars. */
export type PluginChainName = (typeof pluginChainNames)[number]

/** A stage of a chain. */
export interface PluginStage {
  readonly plugin: string
  readonly priority: number
  readonly disable: boolean
}

/** The configuration of the mesh: every default applied, every duration in milliseconds. Frozen. */
export interface MeshConfig {
  readonly clusterSet: Readonly<Record<string, string>>
  readonly sidecar: SidecarConfig
  readonly traffic: TrafficConfig
  readonly observability: ObservabilityConfig
  readonly certificate: CertificateConfig
  readonly featureFlags: Readonly<Record<FeatureFlag, boolean>>
  readonly pluginChains: Readonly<Record<PluginChainName, readonly PluginStage[]>>
}

/**
 * What holds in a mesh that runs without Kubernetes wherever its MeshConfig says nothing, or does not exist.
 *
 * Policies of all kinds count: anyone who puts one into the folder wants it obeyed. Nothing is open that no policy opens.
 */
export const standalonePreset: MeshConfigSpec = Object.freeze({
  featureFlags: Object.freeze({
    enableEgressPolicy: true,
    enableIngressBackendPolicy: true,
    enableAccessControlPolicy: true,
    enableAccessCertPolicy: true,
    enableRetryPolicy: true,
  }),
})

/** Environment variables that the configuration falls back to. */
export interface ConfigEnvironment {
  readonly OSM_DEFAULT_SIDECAR_CLASS?: string | undefined
  readonly OSM_DEFAULT_SIDECAR_IMAGE?: string | undefined
  readonly OSM_DEFAULT_SIDECAR_WINDOWS_IMAGE?: string | undefined
  readonly OSM_DEFAULT_INIT_CONTAINER_IMAGE?: string | undefined
}
