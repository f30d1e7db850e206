/**
 * The parts of a ProxyPolicy.
 *
 * A part is a frozen, JSON-safe value. Its hash covers its canonical JSON (see `canonicalJson`), so that equal hashes mean equal bytes on every
 * replica. Parts that a translation must read together refer to each other by hash; parts that only need to name each other (a route its upstream,
 * an upstream its endpoints) do so by id, so that an endpoint change leaves the hashes of routes and upstreams alone.
 *
 * Lists whose order has no meaning are sorted by the producer; lists whose order matters say so. Durations are integer milliseconds. No part holds a
 * secret: credentials are references.
 */
import type { Branded, MeshService, Principal, ProxyUUID, ServiceIdentity, SpiffeId } from '../identity.js'

/** Content address of a part: the first 192 bits of SHA-256 over its canonical JSON, base64url (32 characters). */
export type PartHash = Branded<string, 'PartHash'>

/** A plain JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue }

/**
 * Application protocol of a port, from `appProtocol`, else the port name, else `http`; never from sniffing.
 *
 * `http` is HTTP/1.1 (upgrades included), `http2` and `grpc` use prior knowledge, `https` is the application's own TLS passed through,
 * `tcp-server-first` promises that nothing waits for the client's first byte.
 */
export type Protocol = 'http' | 'http2' | 'grpc' | 'https' | 'tcp' | 'tcp-server-first'

/** An IP address (v4 or v6, no brackets) and a port. */
export interface SocketAddress {
  readonly address: string
  /** 1 to 65535. */
  readonly port: number
}

/** An inclusive set of addresses, such as `10.0.0.0/8` or `fd00::/8`. */
export type Cidr = string

/** Where a workload runs; empty strings where unknown. */
export interface Locality {
  readonly region: string
  readonly zone: string
  readonly subZone: string
}

/**
 * A credential that the host hands out over `credentials(proxy, ref)`, and only while the reference stands in that proxy's policy.
 *
 * `service` is the proxy's own service certificate; the others name material that policy objects mention.
 */
export type CredentialRef =
  | { readonly kind: 'service' }
  | { readonly kind: 'egress'; readonly name: string }
  | { readonly kind: 'secret'; readonly namespace: string; readonly name: string }

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// Matching

/** A string matcher. `regex` is RE2 syntax and must match the whole value. */
export type StringMatch =
  | { readonly type: 'exact'; readonly value: string }
  | { readonly type: 'prefix'; readonly value: string }
  | { readonly type: 'regex'; readonly value: string }
  | { readonly type: 'present' }

/** A header matcher; `name` is lower case. */
export interface HeaderMatch {
  readonly name: string
  readonly match: StringMatch
  readonly invert?: boolean
}

/** All given conditions must hold; an absent one holds for every request. */
export interface RouteMatch {
  /** Matched against the path without query, after the path rule of the mesh (dot segments refused, `//` merged). `present` never occurs here. */
  readonly path?: StringMatch
  /** Upper case, sorted. */
  readonly methods?: readonly string[]
  /** Sorted by name; all must match. */
  readonly headers?: readonly HeaderMatch[]
}

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// Limits, retries, thresholds

/** A token bucket: `tokens` per `intervalMs`, holding at most `tokens + burst`. */
export interface TokenBucket {
  readonly tokens: number
  readonly intervalMs: number
  readonly burst: number
}

/** A local limit on new TCP connections; excess connections are closed. */
export interface TcpLocalRateLimit {
  readonly bucket: TokenBucket
}

/** A local limit on HTTP requests; excess requests get `statusCode`. */
export interface HttpLocalRateLimit {
  readonly bucket: TokenBucket
  /** 400 to 599; 429 where nothing was said. */
  readonly statusCode: number
  /** In the order in which they are added. */
  readonly responseHeaders: readonly { readonly name: string; readonly value: string }[]
}

/** A limit counted by a rate-limit service shared by many proxies. */
export interface GlobalRateLimit {
  readonly service: SocketAddress & { readonly host: string }
  readonly domain: string
  readonly timeoutMs: number
  readonly failOpen: boolean
  /** In the order in which the service sees them. */
  readonly descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[]
}

/** Limits of a port (`tcp`, `http`) or of one route (`http`). */
export interface RateLimits {
  readonly tcp?: TcpLocalRateLimit
  readonly http?: HttpLocalRateLimit
  readonly globalTcp?: GlobalRateLimit
  readonly globalHttp?: GlobalRateLimit
}

/** Asks an external gRPC service for each request; a denial is answered 403. */
export interface ExternalAuthorization {
  readonly host: string
  readonly port: number
  readonly statPrefix: string
  readonly timeoutMs: number
  /** True lets requests pass while the service cannot be asked. */
  readonly failureModeAllow: boolean
}

/** When and how a client's proxy repeats a failed request. */
export interface RetryPolicy {
  /** Conditions in the vocabulary of contract §2.4 (`5xx`, `gateway-error`, `connect-failure`, …), sorted. */
  readonly retryOn: readonly string[]
  readonly numRetries: number
  readonly perTryTimeoutMs?: number
  readonly backoffBaseIntervalMs?: number
}

/** Upper bounds on what a client's proxy keeps open towards an upstream. Absent means unlimited. */
export interface ConnectionLimits {
  readonly maxConnections?: number
  readonly maxPendingRequests?: number
  readonly maxRequests?: number
  readonly maxRequestsPerConnection?: number
  readonly maxRetries?: number
}

/** Breaks a circuit on statistics of the last window; while broken, requests get the degraded response. */
export interface StatisticalCircuitBreaker {
  readonly statWindowMs: number
  readonly minRequests: number
  readonly degradedWindowMs: number
  readonly slowThresholdMs?: number
  readonly slowAmount?: number
  /** 0 to 1. */
  readonly slowRatio?: number
  readonly errorAmount?: number
  /** 0 to 1. */
  readonly errorRatio?: number
  readonly degradedStatusCode: number
  readonly degradedBody: string
}

/** Probes every endpoint at an interval and stops using those that fail. */
export interface ActiveHealthCheck {
  readonly type: 'http' | 'tcp'
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly path?: string
  readonly unhealthyThreshold: number
  readonly healthyThreshold: number
}

/** How a client's proxy chooses among endpoints. `hash` keeps a client address on one endpoint. */
export type LoadBalancing =
  | { readonly policy: 'round-robin' }
  | { readonly policy: 'least-request' }
  | { readonly policy: 'hash'; readonly on: 'source-ip' }

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// proxy

/** Health probes of one container that the sidecar answers for, so that a kubelet without a certificate can ask. */
export interface ProbeBinding {
  readonly container: string
  readonly probe: 'liveness' | 'readiness' | 'startup'
  /** Where the sidecar listens, without TLS. */
  readonly listen: SocketAddress
  /** Path under which the sidecar answers; unique per container and probe. Empty for TCP-style probes. */
  readonly path: string
  readonly target: {
    readonly type: 'http' | 'https' | 'tcp' | 'grpc'
    readonly port: number
    readonly path?: string
    readonly headers?: readonly { readonly name: string; readonly value: string }[]
    /** gRPC health service name. */
    readonly service?: string
  }
  readonly timeoutMs: number
}

/** One service port that this proxy serves: the shared rules, and what of them is this proxy's own. */
export interface InboundBinding {
  /** The `inbound` part; the same for every proxy behind that service port, unless the host put it in its deny form. */
  readonly part: PartHash
  /** Id of that part. */
  readonly id: string
  /** Explicit mode: the address of this binding's own TLS listener. Absent in transparent mode, where the original destination port selects. */
  readonly listen?: SocketAddress
  /** Where the application answers. */
  readonly local: SocketAddress
}

/** One service port that this proxy serves to callers from outside the mesh. */
export interface IngressBinding {
  readonly part: PartHash
  readonly id: string
  readonly listen?: SocketAddress
  readonly local: SocketAddress
}

/** Explicit mode: the local address under which the workload reaches one TCP service port. */
export interface OutboundBinding {
  /** Id of the `outbound` part. */
  readonly id: string
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

/** The root of a ProxyPolicy: the only part that belongs to one proxy alone. */
export interface ProxyPart {
  readonly kind: 'proxy'
  readonly id: ProxyUUID
  readonly identity: ServiceIdentity
  readonly principal: Principal
  readonly spiffeId: SpiffeId
  readonly class: string
  /** `transparent`: connections are redirected to the proxy by the kernel. `explicit`: the workload is told addresses. */
  readonly mode: 'transparent' | 'explicit'
  readonly namespace: string
  readonly workload: { readonly kind: string; readonly name: string; readonly instance: string }
  readonly locality: Locality
  /** Key of the cluster that the proxy is in; empty without multi-cluster. */
  readonly cluster: string
  /** Families that the proxy may use, sorted. */
  readonly ipFamilies: readonly ('IPv4' | 'IPv6')[]
  /** The workload's own addresses, sorted. */
  readonly addresses: readonly string[]
  readonly listen: ListenAddresses
  /** Sorted by container and probe. */
  readonly probes: readonly ProbeBinding[]
  /** Sorted by id. */
  readonly inbound: readonly InboundBinding[]
  /** Sorted by id. */
  readonly ingress: readonly IngressBinding[]
  /** Explicit mode; sorted by id. */
  readonly outboundBindings: readonly OutboundBinding[]
  readonly trust: PartHash
  readonly mesh: PartHash
  /** A `set` of `outbound` parts. Absent: the workload may call nothing in the mesh. */
  readonly outbound?: PartHash
  /** A `set` of `upstream` parts: those that routes of `outbound` and `egress` name. */
  readonly upstreams?: PartHash
  /** A `set` of `endpoints` parts, one for each upstream with discovery `endpoints`. */
  readonly endpoints?: PartHash
  /** A `set` of `egress` parts. */
  readonly egress?: PartHash
  readonly clientRules?: PartHash
  readonly dns?: PartHash
  /** `extension` parts of this proxy's class, in the order in which they apply. */
  readonly extensions: readonly PartHash[]
}

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// trust, mesh, principals

/** TLS protocol versions in the vocabulary of MeshConfig. */
export type TlsVersion = 'TLS_AUTO' | 'TLSv1_0' | 'TLSv1_1' | 'TLSv1_2' | 'TLSv1_3'

/** What peers of the mesh are verified against, and with which TLS parameters. Holds public material only. */
export interface TrustPart {
  readonly kind: 'trust'
  readonly id: 'trust'
  readonly trustDomain: string
  /** Roots that may have signed a service certificate, PEM, newest first. Two while a root rotates. */
  readonly roots: readonly string[]
  /** Never below TLSv1_2: the host raises or refuses. */
  readonly minVersion: TlsVersion
  readonly maxVersion: TlsVersion
  /** In order of preference; empty means the proxy's defaults. */
  readonly cipherSuites: readonly string[]
  /** In order of preference; empty means the proxy's defaults. */
  readonly ecdhCurves: readonly string[]
  /** Offered by clients of the mesh, selected by no server. */
  readonly alpn: 'osm'
}

/** Settings that are the same for every proxy of the mesh. */
export interface MeshPart {
  readonly kind: 'mesh'
  readonly id: 'mesh'
  readonly meshName: string
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warning' | 'error' | 'critical' | 'off'
  readonly accessLog: { readonly enabled: boolean; readonly format: 'json' | 'text'; readonly template?: string }
  readonly tracing?: {
    readonly provider: 'zipkin' | 'opentelemetry'
    readonly host: string
    readonly port: number
    readonly endpoint: string
    /** 0 to 1. */
    readonly sampledFraction: number
  }
  readonly remoteLogging?: {
    readonly host: string
    readonly port: number
    readonly endpoint: string
    readonly level: 0 | 1 | 2
    readonly sampledFraction: number
    readonly authorization?: CredentialRef
  }
  readonly requestMetrics: boolean
  /** Connect timeout towards upstreams that set none. */
  readonly connectTimeoutMs: number
  /** Time after which an idle TCP connection or HTTP stream is closed; 0 keeps it. */
  readonly idleTimeoutMs: number
  readonly http1PerRequestLoadBalancing: boolean
  readonly http2PerRequestLoadBalancing: boolean
  /** True passes traffic to destinations unknown to the mesh. */
  readonly egressEnabled: boolean
  /** Longest time that an open TCP connection or upgraded stream outlives the rule that allowed it. */
  readonly withdrawalTimeoutMs: number
  readonly activeHealthChecks: boolean
}

/** Who may call. Two ways only: everyone of the trust domain, or a list. Never "any valid certificate". */
export type PrincipalsPart =
  | { readonly kind: 'principals'; readonly id: string; readonly match: 'trustDomain'; readonly trustDomain: string }
  | {
      readonly kind: 'principals'
      readonly id: string
      readonly match: 'list'
      readonly principals: readonly Principal[]
    }

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// inbound, ingress

/**
 * One HTTP allow rule of a served port. Rules have no order: a request passes if at least one rule matches it and allows its caller, and is
 * answered 403 otherwise. A rule therefore only ever adds access.
 */
export interface HttpAllowRule {
  readonly match: RouteMatch
  /** A `principals` part. */
  readonly allow: PartHash
}

/** Limits of the requests that match; the first match of a list counts. */
export interface RouteLimits {
  readonly match: RouteMatch
  readonly rateLimits: RateLimits
}

/** What a served port lets in. */
export type InboundRules =
  | {
      readonly kind: 'http'
      /**
       * Host names (no ports) under which the service is known, sorted. They name the virtual host; a request with another host name is
       * under the same rules, because the SNI name has chosen the service already.
       */
      readonly hosts: readonly string[]
      /** Sorted by canonical JSON. Never empty: a port that nobody may call has no inbound part. */
      readonly allow: readonly HttpAllowRule[]
      /** In order. */
      readonly routeLimits: readonly RouteLimits[]
    }
  | {
      readonly kind: 'tcp'
      /** A `principals` part. */
      readonly allow: PartHash
    }
  /** The deny form: the port is served, every HTTP request is answered 403, every TCP connection is closed after its handshake. */
  | { readonly kind: 'deny' }

/** A service port as served: shared by all proxies behind it. */
export interface InboundPart {
  readonly kind: 'inbound'
  /** `<namespace>/<service>|<targetPort>`. */
  readonly id: string
  readonly service: MeshService
  /** Port of the service. */
  readonly port: number
  /** Port of the workload; the original destination port in transparent mode. */
  readonly targetPort: number
  readonly protocol: Protocol
  /** SNI names that select this port; sorted. Several services on one port differ by them. */
  readonly serverNames: readonly string[]
  readonly rules: InboundRules
  readonly rateLimits?: RateLimits
  readonly externalAuthorization?: ExternalAuthorization
}

/** Callers from outside the mesh that may reach a service port. */
export interface IngressPart {
  readonly kind: 'ingress'
  /** `<namespace>/<service>|<targetPort>`. */
  readonly id: string
  readonly service: MeshService
  readonly port: number
  readonly targetPort: number
  readonly protocol: Protocol
  /** Source addresses; sorted; never empty. */
  readonly sources: readonly Cidr[]
  /** `none`: plaintext. `mtls`: client certificate of an allowed principal. `tls`: server side only. */
  readonly tls: 'none' | 'tls' | 'mtls'
  readonly serverNames: readonly string[]
  /** A `principals` part, with `mtls`. */
  readonly allow?: PartHash
  /** A request passes if one of these matches it; sorted by canonical JSON. */
  readonly matches: readonly RouteMatch[]
  /** In order. */
  readonly routeLimits: readonly RouteLimits[]
  readonly rateLimits?: RateLimits
}

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// outbound, upstream, endpoints

/** A share of the traffic. A weight of 0 gets none. */
export interface WeightedUpstream {
  /** Id of an `upstream` part. */
  readonly upstream: string
  readonly weight: number
}

/** One HTTP route of a called service. */
export interface OutboundRoute {
  readonly match: RouteMatch
  /** Sorted by upstream; weights sum to more than 0, else requests are answered 503. */
  readonly targets: readonly WeightedUpstream[]
  /** 0 means none. */
  readonly timeoutMs: number
}

/** A service port as called: shared by all its clients. */
export interface OutboundPart {
  readonly kind: 'outbound'
  /** `<namespace>/<service>|<port>`. */
  readonly id: string
  readonly service: MeshService
  readonly port: number
  readonly protocol: Protocol
  /** Addresses that select this service in transparent mode: virtual IPs, or endpoint IPs of a headless service. Sorted. */
  readonly addresses: readonly string[]
  /** Host names without ports, without the short one: `svc.ns`, `svc.ns.svc`, … Sorted. Each also matches with `:port`. */
  readonly hosts: readonly string[]
  /** The name that only proxies of the same namespace may use (see {@link SetRef.shortNames}). */
  readonly shortHost: string
  readonly rules:
    | { readonly kind: 'http'; readonly routes: readonly OutboundRoute[] }
    | { readonly kind: 'tcp'; readonly targets: readonly WeightedUpstream[] }
}

/** How a client's proxy connects to an upstream. */
export type UpstreamTls =
  /** mTLS of the mesh: own service certificate, SNI, ALPN `osm`; the peer must hold one of `principals`. */
  | { readonly mode: 'mesh'; readonly serverName: string; readonly principals: readonly Principal[] }
  /** TLS towards an outside server, with the given or no client credential. */
  | {
      readonly mode: 'originate'
      readonly serverName: string
      readonly subjectAltNames: readonly string[]
      readonly credential?: CredentialRef
      readonly roots?: CredentialRef
    }
  | { readonly mode: 'none' }

/** Where the addresses of an upstream come from. */
export type Discovery =
  /** The `endpoints` part of the same id. */
  | { readonly kind: 'endpoints' }
  | { readonly kind: 'dns'; readonly host: string; readonly port: number }
  /** The address that the workload dialled; `port` restricts it. */
  | { readonly kind: 'originalDestination'; readonly port?: number }
  /** The host that the HTTP request names. */
  | { readonly kind: 'forwardProxy' }
  | { readonly kind: 'static'; readonly addresses: readonly SocketAddress[] }

/** Something that traffic can be sent to. */
export interface UpstreamPart {
  readonly kind: 'upstream'
  /** In-mesh: `<namespace>/<service>|<targetPort>`. Outside: `<host>:<port>` or `<port>`. */
  readonly id: string
  /** Absent for upstreams outside the mesh. */
  readonly service?: MeshService
  readonly port: number
  readonly protocol: Protocol
  readonly tls: UpstreamTls
  readonly discovery: Discovery
  readonly loadBalancing: LoadBalancing
  /** Overrides the mesh's. */
  readonly connectTimeoutMs?: number
  readonly limits?: ConnectionLimits
  readonly circuitBreaker?: StatisticalCircuitBreaker
  readonly healthCheck?: ActiveHealthCheck
}

/** One address of an upstream. */
export interface PolicyEndpoint {
  readonly address: string
  readonly port: number
  readonly weight: number
  /** 0 is used first; a higher number only when no lower one is healthy. */
  readonly priority: number
  readonly locality: Locality
  /** Key of the cluster; empty for the own one. */
  readonly cluster: string
  readonly identity?: ServiceIdentity
  /** Sidecar class; absent without a sidecar. */
  readonly class?: string
  readonly meshed: boolean
  /** Path prefix of a remote cluster's gateway. */
  readonly path?: string
}

/** The addresses of the upstream of the same id. Empty means that the service has none now. */
export interface EndpointsPart {
  readonly kind: 'endpoints'
  readonly id: string
  /** Sorted by address and port. */
  readonly endpoints: readonly PolicyEndpoint[]
}

// ---------------------------------------------------------------------------------------------------------------------------------------------------
// clientRules, egress, dns, extension, set

/** What depends on the caller's identity rather than on what is called. */
export interface ClientRulesPart {
  readonly kind: 'clientRules'
  readonly id: ServiceIdentity
  /** Sorted by `outbound`. */
  readonly retries: readonly { readonly outbound: string; readonly policy: RetryPolicy }[]
  /**
   * Requests that the called side would refuse for this identity anyway, so that the own proxy may answer 403 at once. An optimisation: the decision
   * stays with the called side. Sorted by `outbound`; the request is refused if none of `allow` matches.
   */
  readonly preFilters: readonly { readonly outbound: string; readonly allow: readonly RouteMatch[] }[]
  /** Sorted by `egress`. */
  readonly egressCredentials: readonly { readonly egress: string; readonly credential: CredentialRef }[]
  /** Egress gateways for egress parts; the key `*` stands for the rest. Sorted by `egress`. */
  readonly gateways: readonly {
    readonly egress: string
    readonly mode: 'http2tunnel' | 'socks5'
    readonly targets: readonly WeightedUpstream[]
  }[]
}

/** One destination outside the mesh. Exactly one of hosts, server names and CIDRs selects, by protocol. */
export interface EgressPart {
  readonly kind: 'egress'
  readonly id: string
  readonly port: number
  readonly protocol: 'http' | 'https' | 'tcp' | 'tcp-server-first'
  /** `http`: host names. */
  readonly hosts: readonly string[]
  /** `https`: SNI names. */
  readonly serverNames: readonly string[]
  /** `tcp`: destinations; empty means any. */
  readonly cidrs: readonly Cidr[]
  /** `http`, in order. */
  readonly routes: readonly OutboundRoute[]
  /** `https`, `tcp`. */
  readonly targets: readonly WeightedUpstream[]
}

/** Names that the local DNS proxy answers. */
export interface DnsPart {
  readonly kind: 'dns'
  readonly id: string
  readonly ttlSeconds: number
  /** Sorted by name. */
  readonly records: readonly { readonly name: string; readonly addresses: readonly string[] }[]
  /** In order of preference. */
  readonly upstreamServers: readonly string[]
}

/** Material for one sidecar class, opaque to core and to every other class. */
export interface ExtensionPart {
  readonly kind: 'extension'
  readonly id: string
  readonly class: string
  /** Names what `value` is, such as `plugin.flomesh.io/v1alpha1 Plugin`. */
  readonly type: string
  readonly value: JsonValue
}

/** Kinds of parts that come in sets. */
export type SetMemberKind = 'outbound' | 'upstream' | 'endpoints' | 'egress'

/** A part of a set. */
export interface SetMember {
  readonly id: string
  readonly hash: PartHash
}

/** A set inside a set. */
export interface SetRef {
  readonly id: string
  readonly hash: PartHash
  /** `outbound` sets: the reader is in the namespace of the members, so that their short host names hold as well. */
  readonly shortNames?: true
}

/** A list of parts of one kind that many proxies share. No id occurs twice in a set and its nested sets. */
export interface SetPart {
  readonly kind: 'set'
  readonly id: string
  readonly of: SetMemberKind
  /** Sorted by id. */
  readonly members: readonly SetMember[]
  /** Sorted by id. */
  readonly sets: readonly SetRef[]
}

/** Any part. */
export type Part =
  | ProxyPart
  | TrustPart
  | MeshPart
  | PrincipalsPart
  | InboundPart
  | IngressPart
  | OutboundPart
  | UpstreamPart
  | EndpointsPart
  | ClientRulesPart
  | EgressPart
  | DnsPart
  | ExtensionPart
  | SetPart

/** Discriminator of {@link Part}. */
export type PartKind = Part['kind']

/** The part of a kind. */
export type PartOf<K extends PartKind> = Extract<Part, { readonly kind: K }>
