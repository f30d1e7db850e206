import type { MeshService } from '../../identity.js'
import type { ExternalAuthorization, RateLimits, RouteRateLimits } from './limits.js'
import type { RouteMatch } from './matching.js'
import type { Cidr, PartHash, Protocol } from './values.js'

/**
 * One HTTP allow rule of a served port. Rules have no order: a request passes if at least one rule matches it and allows its caller, and is
 * answered 403 otherwise. A rule therefore only ever adds access.
 */
export interface HttpAllowRule {
  /** Which requests. */
  readonly match: RouteMatch
  /** Allowed callers: a `principals` part. */
  readonly allow: PartHash
}

/** Limits of the requests that match; the first match of a list counts. */
export interface RouteLimits {
  /** Which requests. */
  readonly match: RouteMatch
  /** Their limits. */
  readonly rateLimits: RouteRateLimits
}

/** Rules of a served port. */
export type InboundRules =
  /** Ports that speak HTTP/1.1, HTTP/2 or gRPC. */
  | {
      readonly kind: 'http'
      /**
       * Host names (no ports) under which the service is known, sorted. They name the virtual host; a request with another host name is
       * under the same rules, because the SNI name has chosen the service already.
       */
      readonly hosts: readonly string[]
      /** Sorted by canonical JSON of the match, then by `allow`. Never empty: a port without allowed callers has no inbound part. */
      readonly allow: readonly HttpAllowRule[]
      /** In order. */
      readonly routeLimits: readonly RouteLimits[]
    }
  /** Other ports. */
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
  /** The service. */
  readonly service: MeshService
  /** Port of the service. */
  readonly port: number
  /** Port of the workload; the original destination port in transparent mode. */
  readonly targetPort: number
  /** Protocol of the application. */
  readonly protocol: Protocol
  /** SNI names that select this port; sorted. Several services on one port differ by them. */
  readonly serverNames: readonly string[]
  /** Its allow rules. */
  readonly rules: InboundRules
  /** Limits of the whole port. */
  readonly rateLimits?: RateLimits
  /** External authorization of requests that the rules allow. HTTP ports only. */
  readonly externalAuthorization?: ExternalAuthorization
}

/**
 * Allowed callers of a service port from outside the mesh. It has no deny form: the host removes withdrawn parts from the policy, and callers that no
 * ingress part allows are refused.
 */
export interface IngressPart {
  readonly kind: 'ingress'
  /**
   * `<namespace>/<service>|<targetPort>`; followed by `|<discriminator>` where several parts open one port, or where the part has another protocol than
   * the port has inside the mesh.
   */
  readonly id: string
  /** The service. */
  readonly service: MeshService
  /** Port of the service. */
  readonly port: number
  /** Port of the workload; the original destination port in transparent mode. */
  readonly targetPort: number
  /** What the application speaks. For other protocols than HTTP, bytes are forwarded unchanged, with or without TLS of the caller. */
  readonly protocol: Protocol
  /** Source addresses; sorted; never empty. */
  readonly sources: readonly Cidr[]
  /** `none`: plaintext; always used for other protocols than HTTP. `mtls`: client certificate of an allowed principal. `tls`: server side only. */
  readonly tls: 'none' | 'tls' | 'mtls'
  /** SNI names that select this part, sorted; empty means any. Empty with `none`. */
  readonly serverNames: readonly string[]
  /** A `principals` part, with `mtls` only: DNS names in client certificates, which the roots of `trust` have signed. */
  readonly allow?: PartHash
  /**
   * A request passes if one of these matches it, and is answered 403 otherwise; sorted by canonical JSON, never empty. For other protocols than HTTP, one match without conditions.
   */
  readonly matches: readonly RouteMatch[]
  /** In order. */
  readonly routeLimits: readonly RouteLimits[]
  /** Limits of the whole port, counted apart from those of the inbound part. */
  readonly rateLimits?: RateLimits
  /** External authorization of allowed requests. */
  readonly externalAuthorization?: ExternalAuthorization
}
