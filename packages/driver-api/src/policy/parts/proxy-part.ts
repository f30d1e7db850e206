import type { Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../../identity.js'
import type { HttpHeader, Locality, PartHash, SocketAddress } from './values.js'

/** The original health probe of the workload. */
export interface ProbeTarget {
  /** As the user wrote it. */
  readonly type: 'http' | 'https' | 'tcp' | 'grpc'
  /** Port of the workload; never one of the proxy's own. */
  readonly port: number
  /** `http` and `https`: path with query. */
  readonly path?: string
  /** `http` and `https`: in the order of the probe. */
  readonly headers?: readonly HttpHeader[]
  /** `grpc`: name of the health service. */
  readonly service?: string
}

/**
 * A health probe of one container that the sidecar answers for, so that a kubelet without a certificate can ask. It bypasses mutual TLS, so only the probe may pass: of `http`, `https` and `tcp` a GET or HEAD of that path over HTTP/1.1, without a query, a body or headers that applications take for a
 * caller's identity; of `grpc` a call of that path over HTTP/2.
 */
export interface ProbeBinding {
  /** Name of the container. */
  readonly container: string
  /** Kind of the probe. */
  readonly probe: 'liveness' | 'readiness' | 'startup'
  /** Where the sidecar listens, without TLS. Bindings may share an address. */
  readonly listen: SocketAddress
  /** Path under which the sidecar answers, without query; never empty, and unique at its address. That of the health protocol for `grpc`. */
  readonly path: string
  /** The request to the workload. */
  readonly target: ProbeTarget
  /** Milliseconds until an unanswered probe counts as failed. */
  readonly timeoutMs: number
}

/** One service port that this proxy serves: the shared rules and the proxy-specific properties. */
export interface InboundBinding {
  /** The `inbound` part; the same for every proxy behind that service port, unless the host put it in its deny form. */
  readonly part: PartHash
  /** Id of that part. */
  readonly id: string
  /** Explicit mode: the address of this binding's own TLS listener. Absent in transparent mode, where the original destination port selects. */
  readonly listen?: SocketAddress
  /** Address of the application. */
  readonly local: SocketAddress
}

/** One service port that this proxy serves to callers from outside the mesh. */
export interface IngressBinding {
  /** The `ingress` part. */
  readonly part: PartHash
  /** Id of that part. */
  readonly id: string
  /** Explicit mode: where callers connect. Bindings of one port of a service share it, as they do the port in transparent mode. */
  readonly listen?: SocketAddress
  /** Address of the application. */
  readonly local: SocketAddress
}

/** Explicit mode: the local address under which the workload reaches one TCP service port. */
export interface OutboundBinding {
  /** Id of the `outbound` part. */
  readonly id: string
  /** Plain TCP, for this workload only. */
  readonly listen: SocketAddress
}

/** Addresses that the proxy itself listens on. */
export interface ListenAddresses {
  /** Transparent mode: where redirected inbound connections arrive. */
  readonly inbound?: SocketAddress
  /** Transparent mode: where redirected outbound connections arrive. */
  readonly outbound?: SocketAddress
  /** Explicit mode: the forward proxy that the workload uses for HTTP. */
  readonly outboundHttp?: SocketAddress
  /** Prometheus, without TLS. */
  readonly metrics?: SocketAddress
  /** Administration; loopback only. */
  readonly admin?: SocketAddress
  /** Local DNS proxy (UDP). */
  readonly dns?: SocketAddress
}

/** The workload beside the proxy: labels of its metrics, never an identity. */
export interface WorkloadName {
  /** Kind of the controlling object, such as `Deployment`; of the workload itself if it has no controller. */
  readonly kind: string
  /** Name of the controlling object. */
  readonly name: string
  /** Name of the pod or process. */
  readonly instance: string
}

/** The root of a ProxyPolicy: the only part that belongs to a single proxy. */
export interface ProxyPart {
  readonly kind: 'proxy'
  /** The proxy's UUID. */
  readonly id: ProxyUUID
  /** Identity in the proxy's service certificate. */
  readonly identity: ServiceIdentity
  /** DNS name of that identity. */
  readonly principal: Principal
  /** URI of that identity. */
  readonly spiffeId: SpiffeId
  /** Sidecar class, lower case. */
  readonly class: string
  /** `transparent`: connections are redirected to the proxy by the kernel. `explicit`: the workload is configured with addresses. */
  readonly mode: 'transparent' | 'explicit'
  /** Namespace of the workload. */
  readonly namespace: string
  /** For metrics and logs. */
  readonly workload: WorkloadName
  /**
   * Present: the workload has ended for good and waits for its sidecar, like the pod of a Job with a classic sidecar. The proxy has to exit by itself
   * with success. Only the control plane can request this.
   */
  readonly workloadEnded?: true
  /** Where the proxy runs. */
  readonly locality: Locality
  /** Key of the cluster that the proxy is in; empty without multi-cluster. */
  readonly cluster: string
  /** Families that the proxy may use, sorted. */
  readonly ipFamilies: readonly ('IPv4' | 'IPv6')[]
  /** The workload's own addresses, sorted. */
  readonly addresses: readonly string[]
  /** The proxy's own listeners. */
  readonly listen: ListenAddresses
  /** Sorted by container and probe. */
  readonly probes: readonly ProbeBinding[]
  /** Sorted by id. */
  readonly inbound: readonly InboundBinding[]
  /** Sorted by id. */
  readonly ingress: readonly IngressBinding[]
  /** Explicit mode; sorted by id. */
  readonly outboundBindings: readonly OutboundBinding[]
  /** The `trust` part. */
  readonly trust: PartHash
  /** The `mesh` part. */
  readonly mesh: PartHash
  /** A `set` of `outbound` parts. Absent: the workload may call nothing in the mesh. */
  readonly outbound?: PartHash
  /** A `set` of `upstream` parts: those that routes of `outbound` and `egress`, and gateways of `clientRules`, name. */
  readonly upstreams?: PartHash
  /** A `set` of `endpoints` parts, one for each upstream with discovery `endpoints`. */
  readonly endpoints?: PartHash
  /** A `set` of `egress` parts. */
  readonly egress?: PartHash
  /** The `clientRules` part of the proxy's identity. */
  readonly clientRules?: PartHash
  /** The `dns` part. */
  readonly dns?: PartHash
  /** `extension` parts of this proxy's class, in the order in which they apply. */
  readonly extensions: readonly PartHash[]
}
