import type { MeshService, Principal, ServiceIdentity } from '../../identity.js'
import type {
  ActiveHealthCheck,
  ConnectionLimits,
  LoadBalancing,
  RetryPolicy,
  StatisticalCircuitBreaker,
} from './limits.js'
import type { OutboundMatch } from './matching.js'
import type { CredentialRef, HttpHeader, Locality, Protocol, SocketAddress } from './values.js'

/** A share of the traffic. */
export interface WeightedUpstream {
  /** Id of an `upstream` part. */
  readonly upstream: string
  /** Relative to the sum of the list. 0 gets none. */
  readonly weight: number
}

/** Changes of the headers of a request or a response. At least one member; lists are never empty. No header is in two of them. */
export interface HeaderChanges {
  /** Replaces all values. Sorted by name, in lower case, each name once. */
  readonly set?: readonly HttpHeader[]
  /** Adds a value. Sorted by name, in lower case, each name once. */
  readonly add?: readonly HttpHeader[]
  /** Removes all values. Names in lower case, sorted. */
  readonly remove?: readonly string[]
}

/** A share of requests, with what is changed for this share alone, after the changes of the route. */
export interface RouteTarget extends WeightedUpstream {
  /** Changes of requests. */
  readonly requestHeaders?: HeaderChanges
  /** Changes of responses. */
  readonly responseHeaders?: HeaderChanges
}

/** A new path. The query stays as it is. */
export type PathChange =
  /** The whole path. */
  | { readonly type: 'full'; readonly value: string }
  /**
   * In place of the segments that the match of the route names, or in front of the path if the match has no path. Begins with `/` and does not end with it;
   * the empty text takes the segments away. The match has no path of another type.
   */
  | { readonly type: 'prefix'; readonly value: string }

/** An answer that sends the client elsewhere. What is absent stays as it is in the request. */
export interface RouteRedirect {
  /** Status of the answer. */
  readonly status: 301 | 302 | 303 | 307 | 308
  /** Scheme. */
  readonly scheme?: 'http' | 'https'
  /** Host name, without a port. With it, the port is `port` or that of the scheme. */
  readonly host?: string
  /** Port. */
  readonly port?: number
  /** Path. */
  readonly path?: PathChange
}

/** What is changed in requests before they are sent on. At least one member. */
export interface RouteRewrite {
  /** Host name of the request. */
  readonly host?: string
  /** Path of the request. */
  readonly path?: PathChange
}

/** Where copies of requests are sent; their responses are dropped. */
export interface RouteMirror {
  /** Id of an `upstream` part. */
  readonly upstream: string
  /** How many requests of a million are copied, 1 to 1,000,000. */
  readonly perMillion: number
}

/** One HTTP route of a called service. */
export interface OutboundRoute {
  /** Which requests. */
  readonly match: OutboundMatch
  /** Sorted by upstream, then by canonical JSON; weights sum to more than 0, with `errorWeight`, else requests are answered 503. */
  readonly targets: readonly RouteTarget[]
  /** Longest time until the answer is complete, in milliseconds; 0 means none. */
  readonly timeoutMs: number
  /** The share of requests that is answered with an error, relative to the sum of it and the weights of `targets`; at least 1. Absent: none. */
  readonly errorWeight?: number
  /** Status of that share; 500 if absent. Only with `errorWeight`. */
  readonly errorStatus?: 503
  /** Every request is answered by this redirect. There are no targets, no other changes, and no errors. */
  readonly redirect?: RouteRedirect
  /** Changes of requests. */
  readonly requestHeaders?: HeaderChanges
  /** Changes of responses. */
  readonly responseHeaders?: HeaderChanges
  /** Changes of the host and the path of requests. */
  readonly rewrite?: RouteRewrite
  /** Copies of requests, as they are sent on. Sorted by upstream, never empty. */
  readonly mirrors?: readonly RouteMirror[]
  /** When requests are sent again, in place of what the client rules of a caller say. `timeoutMs` is about all attempts together. */
  readonly retries?: RetryPolicy
}

/** Where connections go. */
export interface ConnectionShares {
  /** Sorted by upstream; chosen per connection. If all weights sum to 0, connections are closed. */
  readonly targets: readonly WeightedUpstream[]
  /** The share of connections that is closed, relative to the sum of it and the weights of `targets`; at least 1. Absent: none. */
  readonly errorWeight?: number
}

/** Where TLS connections for some server names go. TLS is passed through. */
export interface ServerNameRoute extends ConnectionShares {
  /** In lower case; `*.<suffix>` stands for all names below. Sorted, never empty. */
  readonly serverNames: readonly string[]
}

/** Where traffic to a called service goes. */
export type OutboundRules =
  /** In order; the first match counts, and a request that none matches is answered 404. */
  | { readonly kind: 'http'; readonly routes: readonly OutboundRoute[] }
  | ({
      readonly kind: 'tcp'
      /**
       * TLS connections with a server name of one of these go there; all others go to `targets`. Sorted by canonical JSON, never empty; no name is in two.
       * An exact name counts before wildcards, and a longer wildcard before a shorter one. The client speaks first at such a port.
       */
      readonly serverNameRoutes?: readonly ServerNameRoute[]
    } & ConnectionShares)

/** A service port as called: shared by all its clients. */
export interface OutboundPart {
  readonly kind: 'outbound'
  /** `<namespace>/<service>|<port>`. */
  readonly id: string
  /** The service. */
  readonly service: MeshService
  /** Port of the service. */
  readonly port: number
  /** Protocol of clients. */
  readonly protocol: Protocol
  /** Addresses that select this service in transparent mode: virtual IPs, or endpoint IPs of a headless service. Sorted. */
  readonly addresses: readonly string[]
  /**
   * Absent: a connection to one of `addresses` is for this service, regardless of the host of its requests. Present: the addresses are those of workloads that
   * are behind the services of these outbound parts as well, and the host of a request may select one of them. A host that names none of them changes nothing.
   * A proxy need not have all of these parts. Sorted, on the same port, never empty.
   */
  readonly sharedWith?: readonly string[]
  /**
   * Host names without ports, without the short one: `svc.ns`, `svc.ns.svc`, … Sorted. Each also matches with `:port`. They select in explicit mode,
   * and in transparent mode between services that share addresses.
   */
  readonly hosts: readonly string[]
  /** The name that only proxies of the same namespace may use (see {@link SetRef.shortNames}). */
  readonly shortHost: string
  /** Destinations of the traffic. */
  readonly rules: OutboundRules
}

/** How a client's proxy connects to an upstream. */
export type UpstreamTls =
  /**
   * mTLS of the mesh: own service certificate, SNI, ALPN `osm`; the peer must hold one of `principals` (sorted, never empty). With `plaintext`, endpoints
   * whose own `tls` is `none` have no sidecar and receive plaintext. Without it nothing is sent to such endpoints.
   */
  | {
      readonly mode: 'mesh'
      readonly serverName: string
      readonly principals: readonly Principal[]
      readonly plaintext?: true
    }
  /**
   * TLS towards an outside server, with the given or no client credential. One of `subjectAltNames` (sorted; empty means `serverName`) must be in its certificate. Without `roots` the proxy's system roots are used; with those of kind `service`, the roots of the `trust` part;
   * with those of kind `secret`, the roots that come with that credential.
   */
  | {
      readonly mode: 'originate'
      readonly serverName: string
      readonly subjectAltNames: readonly string[]
      readonly credential?: CredentialRef
      readonly roots?: CredentialRef
    }
  /** Plaintext. For a service of the mesh only for single endpoints, if the upstream allows it. */
  | { readonly mode: 'none' }

/** Where the addresses of an upstream come from. */
export type Discovery =
  /** The `endpoints` part of the same id. */
  | { readonly kind: 'endpoints' }
  /** The addresses that DNS returns for `host`, updated when they change. */
  | { readonly kind: 'dns'; readonly host: string; readonly port: number }
  /** The address that the workload dialled; `port` restricts it. */
  | { readonly kind: 'originalDestination'; readonly port?: number }
  /** The host that the HTTP request names; for other protocols, the server name of the TLS connection, on the port of the upstream. */
  | { readonly kind: 'forwardProxy' }
  /** A fixed list, sorted by address and port. */
  | { readonly kind: 'static'; readonly addresses: readonly SocketAddress[] }

/** A destination of traffic. */
export interface UpstreamPart {
  readonly kind: 'upstream'
  /** In-mesh: `<namespace>/<service>|<targetPort>`. Outside: `<host>:<port>` or `<port>`. */
  readonly id: string
  /** Absent for upstreams outside the mesh. Present: {@link UpstreamPart.tls} has mode `mesh`. */
  readonly service?: MeshService
  /** Port of the workload, or of the outside server. */
  readonly port: number
  /** Protocol of the upstream. */
  readonly protocol: Protocol
  /** How to connect. */
  readonly tls: UpstreamTls
  /** Source of its addresses. */
  readonly discovery: Discovery
  /** How to choose among addresses. */
  readonly loadBalancing: LoadBalancing
  /** Overrides the timeout of the mesh, in milliseconds. */
  readonly connectTimeoutMs?: number
  /** Absent: unlimited. */
  readonly limits?: ConnectionLimits
  /** Absent: no circuit breaker. */
  readonly circuitBreaker?: StatisticalCircuitBreaker
  /** Absent: every endpoint is treated as healthy. */
  readonly healthCheck?: ActiveHealthCheck
}

/** One address of an upstream. */
export interface PolicyEndpoint {
  /** IP address, without brackets. */
  readonly address: string
  /** 1 to 65535. */
  readonly port: number
  /** Relative to the other endpoints of the same priority. 0 gets none. */
  readonly weight: number
  /** 0 is used first; a higher number only when no lower one is healthy. */
  readonly priority: number
  /** Where the workload runs. */
  readonly locality: Locality
  /** Key of the cluster, or name of the network, whose gateway the address is of; empty where the address is that of the workload. */
  readonly cluster: string
  /** Identity of the workload; absent if unknown. */
  readonly identity?: ServiceIdentity
  /** Sidecar class; absent without a sidecar. */
  readonly class?: string
  /** Path prefix of a remote cluster's gateway. */
  readonly path?: string
  /**
   * Replaces the upstream's `tls` for this address: how to reach a remote cluster's gateway; or `none` for a workload without a sidecar, in the own
   * cluster only where the upstream's `tls` has `plaintext`.
   */
  readonly tls?: UpstreamTls
}

/** The addresses of the upstream of the same id. Empty if the service currently has none. */
export interface EndpointsPart {
  readonly kind: 'endpoints'
  /** Id of the `upstream` part. */
  readonly id: string
  /** True: of endpoints of one priority those in the proxy's own zone are used first, then those in its region, then others. Absent: all alike. */
  readonly preferClose?: true
  /**
   * Network of the proxies that these endpoints are for: proxies of two networks reach a workload in two ways. Absent: the network of the mesh. What is in another network
   * is given by the address of a gateway, which passes TLS on as it is, by the server name of the upstream.
   */
  readonly network?: string
  /** Sorted by address and port. */
  readonly endpoints: readonly PolicyEndpoint[]
}
