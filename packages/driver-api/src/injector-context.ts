import type { ProxyCommonName, ProxyUUID } from './identity.js'
import type { MeshConfigView } from './mesh-config.js'
import type { JsonValue, ListenAddresses, Locality } from './policy/parts.js'
import type { Resources } from './sidecar-patch.js'

/** A health probe as the user wrote it, before rewriting. */
export interface OriginalHealthProbe {
  readonly container: string
  readonly kind: 'liveness' | 'readiness' | 'startup'
  readonly type: 'http' | 'https' | 'tcp' | 'grpc'
  /** Named ports are resolved. */
  readonly port: number
  readonly path?: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
  /** gRPC health service name. */
  readonly service?: string
  /** Milliseconds. */
  readonly timeoutMs: number
}

/** The proxy certificate of the sidecar about to be made. The key stays with the host. */
export interface BootstrapCertificate {
  /** PEM, leaf first. Public. */
  readonly chain: string
  /** RFC 3339. */
  readonly expiry: string
  readonly serialNumber: string
}

/**
 * Everything that {@link Driver.patch} may know.
 *
 * The original contract (a Go struct of osm-edge) also held a Kubernetes client and a pod to mutate. Here the pod is frozen data and the driver
 * returns what it wants added.
 */
export interface InjectorContext {
  readonly meshName: string
  readonly osmNamespace: string
  readonly podNamespace: string
  /** The pod as submitted, frozen; for a local process a pod-shaped description of the workload. */
  readonly pod: { readonly [key: string]: JsonValue }
  readonly podOS: 'linux' | 'windows' | 'darwin'
  readonly proxyUUID: ProxyUUID
  readonly proxyCommonName: ProxyCommonName
  readonly bootstrapCertificate: BootstrapCertificate
  /** MeshConfig at the time of the call. */
  readonly configurator: MeshConfigView
  /** The driver's own `sidecarDrivers[].config`, checked against its `configSchema`. */
  readonly driverConfig: JsonValue
  /** Image of this class for {@link podOS}, after the precedence of MeshConfig and environment. */
  readonly sidecarImage: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  readonly resources: Resources
  readonly logLevel: string
  readonly inboundPortExclusionList: readonly number[]
  readonly outboundPortExclusionList: readonly number[]
  readonly outboundIPRangeInclusionList: readonly string[]
  readonly outboundIPRangeExclusionList: readonly string[]
  readonly networkInterfaceExclusionList: readonly string[]
  readonly interceptionMode: 'iptables' | 'ebpf' | 'none'
  /** The same addresses that the proxy part of the policy will carry. */
  readonly listen: ListenAddresses
  readonly locality: Locality
  readonly nativeSidecar: boolean
  readonly originalHealthProbes: readonly OriginalHealthProbe[]
  /** Where the proxy control plane of this class answers. */
  readonly controlPlane: { readonly address: string; readonly port: number; readonly serverName: string }
  /** Roots of the control plane, PEM, newest first. */
  readonly trustBundle: readonly string[]
  /** True: nothing may be kept; the host creates nothing either. */
  readonly dryRun: boolean
  /** Aborts when the admission request times out. */
  readonly signal: AbortSignal
}
