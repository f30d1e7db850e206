import type { ProxyCommonName, ProxyUUID } from './identity.js'
import type { MeshConfigView } from './mesh-config.js'
import type { HttpHeader, JsonValue, ListenAddresses, Locality } from './policy/parts.js'
import type { Resources } from './sidecar-patch.js'

/** A health probe as the user wrote it, before rewriting. */
export interface OriginalHealthProbe {
  /** Name of the container. */
  readonly container: string
  /** Which probe of the container. */
  readonly kind: 'liveness' | 'readiness' | 'startup'
  /** How it asks. */
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

/** The proxy certificate of the sidecar about to be made. The key stays with the host. */
export interface BootstrapCertificate {
  /** PEM, leaf first. Public. */
  readonly chain: string
  /** RFC 3339. */
  readonly expiry: string
  /** Hexadecimal, lower case. */
  readonly serialNumber: string
}

/** Where the proxy control plane of a class answers. */
export interface ControlPlaneAddress {
  /** DNS name or IP address. */
  readonly address: string
  /** 1 to 65535. */
  readonly port: number
  /** DNS name in its certificate. */
  readonly serverName: string
}

/**
 * Everything that {@link Driver.patch} may know.
 *
 * The original contract (a Go struct of osm-edge) also held a Kubernetes client and a pod to mutate. Here the pod is frozen data and the driver
 * returns what it wants added.
 */
export interface InjectorContext {
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
  /** UUID of the sidecar about to be made. */
  readonly proxyUUID: ProxyUUID
  /** Common name of its proxy certificate. */
  readonly proxyCommonName: ProxyCommonName
  /** Its proxy certificate, without the key. */
  readonly bootstrapCertificate: BootstrapCertificate
  /** MeshConfig at the time of the call. */
  readonly configurator: MeshConfigView
  /** The driver's own `sidecarDrivers[].config`, checked against its `configSchema`. */
  readonly driverConfig: JsonValue
  /** Image of this class for {@link podOS}, after the precedence of MeshConfig and environment. */
  readonly sidecarImage: string
  /** When the image is pulled. */
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  /** Of the sidecar, after the precedence of pod, namespace and MeshConfig. */
  readonly resources: Resources
  /** Of the sidecar, in the vocabulary of {@link MeshConfigView}. */
  readonly logLevel: string
  /** Ports whose inbound connections bypass the sidecar; mesh and pod together, sorted. */
  readonly inboundPortExclusionList: readonly number[]
  /** Ports whose outbound connections bypass the sidecar; mesh and pod together, sorted. */
  readonly outboundPortExclusionList: readonly number[]
  /** Not empty: only connections to these CIDRs pass the sidecar. Sorted. */
  readonly outboundIPRangeInclusionList: readonly string[]
  /** CIDRs that connections bypass the sidecar to. Sorted. */
  readonly outboundIPRangeExclusionList: readonly string[]
  /** Network interfaces whose traffic bypasses the sidecar. Sorted. */
  readonly networkInterfaceExclusionList: readonly string[]
  /** How connections reach the sidecar; `none` means that the workload is told addresses. */
  readonly interceptionMode: 'iptables' | 'ebpf' | 'none'
  /** The same addresses that the proxy part of the policy will carry. */
  readonly listen: ListenAddresses
  /** Where the workload runs; empty strings where unknown. */
  readonly locality: Locality
  /** True if the sidecar becomes a native one: started before and ended after the workload by the kubelet. */
  readonly nativeSidecar: boolean
  /** Health probes of the workload's containers, before rewriting. */
  readonly originalHealthProbes: readonly OriginalHealthProbe[]
  /** Where the proxy control plane of this class answers. */
  readonly controlPlane: ControlPlaneAddress
  /** Roots of the control plane, PEM, newest first. */
  readonly trustBundle: readonly string[]
  /** True: nothing may be kept; the host creates nothing either. */
  readonly dryRun: boolean
  /** Aborts when the admission request times out. */
  readonly signal: AbortSignal
}
