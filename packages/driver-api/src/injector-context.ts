import type { ProxyCommonName, ProxyUUID } from './identity.js'
import type { MeshConfigView } from './mesh-config.js'
import type { HttpHeader, JsonValue, ListenAddresses, Locality } from './policy/parts.js'
import type { Resources } from './sidecar-patch.js'

/** A health probe of the pod, before rewriting. */
export interface OriginalHealthProbe {
  /** Name of the container. */
  readonly container: string
  /** Kind of the probe. */
  readonly kind: 'liveness' | 'readiness' | 'startup'
  /** Protocol of the probe. */
  readonly type: 'http' | 'https' | 'tcp' | 'grpc'
  /** Named ports are resolved. */
  readonly port: number
  /** `http` and `https`: path with query. */
  readonly path?: string
  /** `http` and `https`: in the order of the probe. */
  readonly headers?: readonly HttpHeader[]
  /** gRPC health service name. */
  readonly service?: string
  /** Milliseconds until an unanswered probe counts as failed. */
  readonly timeoutMs: number
}

/** The proxy certificate of the new sidecar. The host keeps the key. All fields are empty where the certificate is issued after admission, when the pod starts. */
export interface BootstrapCertificate {
  /** PEM, leaf first. Public. */
  readonly chain: string
  /** RFC 3339. */
  readonly expiry: string
  /** Hexadecimal, lower case. */
  readonly serialNumber: string
}

/** Address of the proxy control plane of a class. */
export interface ControlPlaneAddress {
  /** DNS name or IP address. */
  readonly address: string
  /** 1 to 65535. */
  readonly port: number
  /** DNS name in its certificate. */
  readonly serverName: string
}

/** Where a sidecar reaches the SPIFFE Workload API of its node. */
export interface WorkloadApiSocket {
  /** Path of the Unix socket in the file system of the sidecar. The host mounts it, for the sidecar alone. */
  readonly socketPath: string
}

/**
 * The context of {@link Driver.patch}.
 *
 * The original contract (a Go struct of osm-edge) also contained a Kubernetes client and a pod to mutate. Here the pod is frozen data and the driver
 * returns its additions.
 */
export interface InjectorContext {
  /** Contract version in use: the newest one that driver and host support. */
  readonly contract: number
  /** Name of the mesh. */
  readonly meshName: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** Namespace of the workload. */
  readonly podNamespace: string
  /** The pod as submitted, frozen; for a local process a pod-shaped description of the workload. */
  readonly pod: { readonly [key: string]: JsonValue }
  /** Operating system of the workload. */
  readonly podOS: 'linux' | 'windows' | 'darwin'
  /** UUID of the new sidecar. */
  readonly proxyUUID: ProxyUUID
  /** Common name of its proxy certificate. */
  readonly proxyCommonName: ProxyCommonName
  /** Its proxy certificate, without the key. */
  readonly bootstrapCertificate: BootstrapCertificate
  /** MeshConfig at the time of the call. */
  readonly configurator: MeshConfigView
  /**
   * The driver's own `sidecarDrivers[].config`, checked against its `configSchema`: that of MeshConfig at the time of the call, which may be newer
   * than the one that the driver was started with.
   */
  readonly driverConfig: JsonValue
  /** Image of this class for {@link podOS}, resolved from MeshConfig and environment. */
  readonly sidecarImage: string
  /** When the image is pulled. */
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  /** Resources of the sidecar, resolved from pod, namespace and MeshConfig. */
  readonly resources: Resources
  /** Log level of the sidecar, with the values of {@link MeshConfigView}. */
  readonly logLevel: string
  /** Ports whose inbound connections bypass the sidecar, from mesh and pod, sorted. */
  readonly inboundPortExclusionList: readonly number[]
  /** Ports whose outbound connections bypass the sidecar, from mesh and pod, sorted. */
  readonly outboundPortExclusionList: readonly number[]
  /** If not empty, only connections to these CIDRs are redirected to the sidecar. Sorted. */
  readonly outboundIPRangeInclusionList: readonly string[]
  /** CIDRs to which connections bypass the sidecar. Sorted. */
  readonly outboundIPRangeExclusionList: readonly string[]
  /** Network interfaces whose traffic bypasses the sidecar. Sorted. */
  readonly networkInterfaceExclusionList: readonly string[]
  /** How connections reach the sidecar; with `none` the workload is configured with addresses. */
  readonly interceptionMode: 'iptables' | 'ebpf' | 'none'
  /** The addresses that the proxy part of the policy will contain. */
  readonly listen: ListenAddresses
  /** Where the workload runs; empty strings where unknown. */
  readonly locality: Locality
  /** True for a native sidecar, which the kubelet starts before the workload and stops after it. */
  readonly nativeSidecar: boolean
  /** Health probes of the workload's containers, before rewriting. */
  readonly originalHealthProbes: readonly OriginalHealthProbe[]
  /** Where the proxy control plane of this class answers. */
  readonly controlPlane: ControlPlaneAddress
  /** Roots of the control plane, PEM, newest first. */
  readonly trustBundle: readonly string[]
  /** Present: the sidecar takes its service certificate there. Only drivers with the feature `workload-api-certificates` get it. */
  readonly workloadApi?: WorkloadApiSocket
  /** True for a dry run: the driver must not keep state, and the host creates no objects. */
  readonly dryRun: boolean
  /** Aborts when the admission request times out. */
  readonly signal: AbortSignal
}
