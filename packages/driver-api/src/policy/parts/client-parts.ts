import type { ServiceIdentity } from '../../identity.js'
import type { OutboundRoute, WeightedUpstream } from './called-parts.js'
import type { RetryPolicy } from './limits.js'
import type { RouteMatch } from './matching.js'
import type { Cidr, CredentialRef, JsonValue } from './values.js'

/** Retries of one caller towards one service port. */
export interface ClientRetry {
  /** Id of an `outbound` part. */
  readonly outbound: string
  /** Applies to every route of it. */
  readonly policy: RetryPolicy
}

/** Which requests the called side would let in from this identity. */
export interface ClientPreFilter {
  /** Id of an `outbound` part. */
  readonly outbound: string
  /** A request that none of these matches may be answered 403 at once. Sorted by canonical JSON. */
  readonly allow: readonly RouteMatch[]
}

/** The client certificate that this identity presents to one outside destination. */
export interface ClientEgressCredential {
  /** Id of an `egress` part. */
  readonly egress: string
  /** Replaces the credential of the upstreams that the egress part names. */
  readonly credential: CredentialRef
}

/** The gateway through which this identity reaches an outside destination. */
export interface ClientGateway {
  /** Id of an `egress` part; `*` means every destination without its own gateway. */
  readonly egress: string
  /** How the gateway receives the destination. */
  readonly mode: 'http2tunnel' | 'socks5'
  /** The gateway's `upstream` parts, sorted by upstream. */
  readonly targets: readonly WeightedUpstream[]
}

/** Rules that depend on the caller's identity rather than on the called service. */
export interface ClientRulesPart {
  readonly kind: 'clientRules'
  /** The identity. */
  readonly id: ServiceIdentity
  /** Sorted by `outbound`. */
  readonly retries: readonly ClientRetry[]
  /**
   * Requests that the called side would refuse for this identity anyway, so that the own proxy may answer 403 at once. An optimisation: the decision
   * stays with the called side. Sorted by `outbound`.
   */
  readonly preFilters: readonly ClientPreFilter[]
  /** Sorted by `egress`. */
  readonly egressCredentials: readonly ClientEgressCredential[]
  /** Sorted by `egress`. */
  readonly gateways: readonly ClientGateway[]
}

/** One destination outside the mesh. Exactly one of hosts, server names and CIDRs selects, by protocol. */
export interface EgressPart {
  readonly kind: 'egress'
  /** Chosen by the host, unique among the egress parts of a proxy. */
  readonly id: string
  /** Port that the workload dials. */
  readonly port: number
  /** Protocol of the workload. */
  readonly protocol: 'http' | 'https' | 'tcp' | 'tcp-server-first'
  /** `http`: host names without ports, sorted; `*.<domain>` matches every name below a domain, `*` alone matches any name. IPv6 addresses have brackets. */
  readonly hosts: readonly string[]
  /** `https`: SNI names, sorted; `*.<domain>` matches every name below a domain, `*` alone matches any name and connections without SNI. */
  readonly serverNames: readonly string[]
  /** `tcp`, `tcp-server-first`: destinations, sorted; empty means any. */
  readonly cidrs: readonly Cidr[]
  /** `http`, in order; the first match counts, and a request that none matches is answered 404. */
  readonly routes: readonly OutboundRoute[]
  /** `https`, `tcp`, `tcp-server-first`; sorted by upstream. */
  readonly targets: readonly WeightedUpstream[]
}

/** A name and its addresses. */
export interface DnsRecord {
  /** Without the final dot, lower case. */
  readonly name: string
  /** IP addresses, sorted. */
  readonly addresses: readonly string[]
}

/** Names that the local DNS proxy answers. */
export interface DnsPart {
  readonly kind: 'dns'
  /** Chosen by the host. */
  readonly id: string
  /** Seconds for which answers may be cached. */
  readonly ttlSeconds: number
  /** Sorted by name. */
  readonly records: readonly DnsRecord[]
  /** IP addresses of the servers that other names are forwarded to, in order of preference. Empty: the nameservers of the proxy's system, except the proxy itself. */
  readonly upstreamServers: readonly string[]
}

/** Data for one sidecar class, opaque to core and to every other class. */
export interface ExtensionPart {
  readonly kind: 'extension'
  /** Chosen by the host. */
  readonly id: string
  /** The class that reads it. */
  readonly class: string
  /** Type of `value`, such as `plugin.flomesh.io/v1alpha1 Plugin`. */
  readonly type: string
  /** As the user wrote it. */
  readonly value: JsonValue
}
