import type { JsonValue, PluginChain } from '@osm-ts/driver-api/policy'

import type { LogFormat } from './log-format.js'
import type { CredentialKey, SocketText, Upstream } from './upstream-types.js'

/** A regular expression as the automaton that decides it, see regex.ts. The sidecar never sees the expression itself. */
export interface RegexTable {
  /** First code point of each class of characters, rising, the first one 0. */
  readonly bounds: readonly number[]
  /** The next state by state and class; -1 where nothing can match any more. State 0 is the first. */
  readonly next: readonly (readonly number[])[]
  /** States in which the text may end: 1, else 0. */
  readonly accepts: readonly number[]
}

/** How a text is compared. Exactly one member is there. */
export type TextMatch =
  | { readonly exact: string }
  | { readonly prefix: string }
  | { readonly segments: string }
  | { readonly regex: RegexTable }
  | { readonly present: true }

/** Conditions of a request; all of them must hold, and those that are absent do. */
export interface RequestMatch {
  readonly path?: TextMatch
  readonly methods?: readonly string[]
  readonly headers?: readonly { readonly name: string; readonly invert?: true; readonly match: TextMatch }[]
  /** Parameters of the query as it is written. Of a name that occurs several times the first value counts. */
  readonly query?: readonly { readonly name: string; readonly match: TextMatch }[]
}

/** Who may call: everyone of a trust domain, or those of a list. */
export type Callers = { readonly domain: string } | { readonly names: readonly string[] }

/** A token bucket: so many tokens at each interval, and `burst` more at once. */
export interface Bucket {
  readonly tokens: number
  readonly intervalMs: number
  readonly burst: number
}

/** Requests beyond the bucket are answered with the status. */
export interface RequestLimit {
  readonly bucket: Bucket
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
}

/** A port of the workload that callers of the mesh reach by mutual TLS. */
export interface ServedPort {
  readonly id: string
  /** Port that connections were meant for; selects in transparent mode. */
  readonly port: number
  /** Explicit mode: where it is served. */
  readonly listen?: SocketText
  /** Lower case. */
  readonly serverNames: readonly string[]
  readonly local: SocketText
  readonly protocol: ServedProtocol
  readonly rules: ServedRules
  /** Headers that rules name: request headers with another spelling, `_` for `-`, are removed. Absent: none is. */
  readonly namedHeaders?: readonly string[]
  /** Connections beyond it are closed. */
  readonly connectionLimit?: Bucket
  readonly requestLimit?: RequestLimit
}

/** `http2` speaks HTTP/2 to the workload, `http` the first version. */
export type ServedProtocol = 'http' | 'http2' | 'tcp'

/** What a port lets in. Callers are keys of {@link PipyConfig.callers}. */
export type ServedRules =
  | {
      readonly kind: 'http'
      /** A request passes if any of them holds and allows its caller. */
      readonly allow: readonly { readonly match: RequestMatch; readonly callers: string }[]
      /** The first match decides, instead of the limit of the port. */
      readonly limits: readonly { readonly match: RequestMatch; readonly limit?: RequestLimit }[]
    }
  | { readonly kind: 'tcp'; readonly callers: string }
  | { readonly kind: 'deny' }

/** A port of the workload for callers from outside the mesh. */
export interface IngressPort {
  readonly id: string
  readonly port: number
  readonly listen?: SocketText
  readonly sources: readonly string[]
  readonly tls: 'none' | 'tls' | 'mtls'
  /** Lower case; `*.` stands for names below. Empty: any. */
  readonly serverNames: readonly string[]
  /** DNS names of client certificates, with `mtls`. */
  readonly names?: readonly string[]
  readonly local: SocketText
  readonly protocol: 'http' | 'http2'
  readonly matches: readonly RequestMatch[]
  /** As of served ports. */
  readonly namedHeaders?: readonly string[]
  readonly limits: readonly { readonly match: RequestMatch; readonly limit?: RequestLimit }[]
  readonly connectionLimit?: Bucket
  readonly requestLimit?: RequestLimit
}

/** Upstreams by weight, all above 0; empty: requests are answered 503. Connections for one that does not exist are closed. */
export type Shares = readonly { readonly upstream: string; readonly weight: number }[]

/** Changes of the headers of a message, with names in lower case. No name is in two of the lists. */
export interface HeaderChanges {
  readonly set?: readonly (readonly [string, string])[]
  readonly add?: readonly (readonly [string, string])[]
  readonly remove?: readonly string[]
}

/** A share of the requests of a route, with what is changed for it after the changes of the route; or the status that it is answered with. */
export type RouteShare =
  | {
      readonly upstream: string
      readonly weight: number
      readonly request?: HeaderChanges
      readonly response?: HeaderChanges
    }
  | { readonly status: number; readonly weight: number }

/** A new path without its query: as a whole, or for the segments that it begins with. */
export type PathChange = { readonly full: string } | { readonly prefix: string; readonly value: string }

/** An answer that sends the caller elsewhere. What is absent stays as it is in the request. */
export interface Redirect {
  readonly status: number
  readonly scheme?: string
  /** With it, the port of the request goes. */
  readonly host?: string
  readonly port?: number
  readonly path?: PathChange
}

/** A route; the first match of a list decides. */
export interface Route {
  readonly match: RequestMatch
  /** Weights are above 0; empty: requests are answered 503. */
  readonly shares: readonly RouteShare[]
  readonly timeoutMs?: number
  /** Every request is answered with it; there are no shares then. */
  readonly redirect?: Redirect
  readonly request?: HeaderChanges
  /** Of every answer, those of the sidecar itself included. */
  readonly response?: HeaderChanges
  readonly rewrite?: { readonly host?: string; readonly path?: PathChange }
  /** Upstreams that get copies, of so many requests of a million. */
  readonly mirrors?: readonly { readonly upstream: string; readonly perMillion: number }[]
}

/** How failed requests are repeated. */
export interface Retries {
  readonly on: readonly string[]
  readonly times: number
  readonly tryTimeoutMs?: number
  readonly backoffMs: number
}

/** A service of the mesh that the workload calls. */
export interface CalledService {
  readonly id: string
  readonly port: number
  /** `address:port` that the workload dials; selects in transparent mode. */
  readonly addresses: readonly SocketText[]
  /** Ids of services that the host of a request may select in its place. Absent: what was dialled holds, whatever the host is. */
  readonly sharedWith?: readonly string[]
  /** Explicit mode: where connections for it arrive. */
  readonly listen?: SocketText
  /** Lower case, without ports. */
  readonly hosts: readonly string[]
  readonly routes?: readonly Route[]
  readonly shares?: Shares
  readonly retries?: Retries
}

/** A destination outside the mesh. */
export interface EgressRule {
  readonly id: string
  readonly port: number
  readonly protocol: 'http' | 'https' | 'tcp'
  /** Lower case; `*.` stands for names below, `*` for every name. */
  readonly hosts: readonly string[]
  readonly cidrs: readonly string[]
  readonly routes?: readonly Route[]
  readonly shares?: Shares
  /** One of {@link PipyConfig.ways}. Absent: it is reached directly. */
  readonly way?: string
}

/** Gateways by which traffic leaves the mesh. */
export interface WayOut {
  /** How a gateway is told where a connection is to lead. */
  readonly mode: 'http2tunnel' | 'socks5'
  /** Upstreams of the gateways; empty: nothing leaves. */
  readonly shares: Shares
}

/** A probe of the workload that the sidecar answers without TLS. */
export interface Probe {
  readonly listen: SocketText
  /** Empty: connections go through as they are. */
  readonly path: string
  /** `grpc` is passed on as it is. */
  readonly type: 'http' | 'https' | 'tcp' | 'grpc'
  readonly target: SocketText
  readonly targetPath: string
  readonly headers: readonly (readonly [string, string])[]
  readonly timeoutMs: number
}

/** Spans of requests, for a collector of Zipkin. */
export interface Tracing {
  /** Where the collector is; its host may be a name. */
  readonly address: SocketText
  readonly path: string
  /** Share of the requests that no one has decided on yet whose spans are kept, 0 to 1. */
  readonly fraction: number
}

/** Records of requests, bodies included, for an HTTP collector. */
export interface RemoteLog {
  /** Where the collector is; its host may be a name. */
  readonly address: SocketText
  /** With its query. */
  readonly path: string
  /** 0: headers are left as they are. 1: requests that come in belong to a trace. 2: those that go out as well. */
  readonly level: 0 | 1 | 2
  /** Share of the requests that are recorded, 0 to 1. */
  readonly fraction: number
  /** Value of the header `authorization`; without it nothing is sent. Absent: there is no such header. */
  readonly authorization?: CredentialKey
  readonly meshName: string
  /** Address of the workload; empty if it has none. */
  readonly workloadAddress: string
}

/** What the local DNS proxy answers. */
export interface Names {
  readonly ttlSeconds: number
  /** Names in lower case, without the last dot; `*.` stands for all below. Addresses of IPv4: with this class nothing comes by another way. */
  readonly records: readonly { readonly name: string; readonly addresses: readonly string[] }[]
  /** Servers for other names, in this order; never the proxy itself. Empty: those of the system. */
  readonly servers: readonly SocketText[]
}

/** A user's script, see guarded-script.ts. */
export interface Plugin {
  readonly name: string
  /** Where it is put to be loaded; another one for another script. */
  readonly path: string
  readonly chains: readonly PluginChain[]
  /** Absent: it can't be run, and what would come to it is refused. */
  readonly script?: string
  /** By service, `<namespace>/<name>`. */
  readonly configs: Readonly<Record<string, JsonValue>>
}

/**
 * All that a sidecar does, as its codebase reads it. Same policy, same bytes: lists are in the order of the policy, or sorted where that has none.
 * It holds no secret; those come with {@link PipyCredentials}.
 */
export interface PipyConfig {
  readonly format: 1
  readonly mode: 'transparent' | 'explicit'
  readonly trust: {
    readonly roots: readonly string[]
    /** Absent if no version lies between minimum and maximum: then no one is let in. */
    readonly versions?: { readonly min: 'TLS1.2' | 'TLS1.3'; readonly max: 'TLS1.2' | 'TLS1.3' }
    readonly ciphers: string
    readonly alpn: string
  }
  /** What checks of other sidecars ask for, which is answered in place of the workload. */
  readonly healthCheck?: { readonly path: string; readonly header: string }
  /** The workload has ended for good: so does the sidecar, when nothing is under way. */
  readonly ended?: true
  readonly workload: {
    readonly identity: string
    readonly namespace: string
    readonly kind: string
    readonly name: string
    readonly instance: string
  }
  readonly listen: {
    readonly inbound?: SocketText
    readonly outbound?: SocketText
    readonly outboundHttp?: SocketText
    readonly metrics?: SocketText
    /** UDP. */
    readonly dns?: SocketText
  }
  readonly idleMs: number
  readonly withdrawalMs: number
  /** Present: paths with escaped slashes are not refused, and rules must allow every reading of them. */
  readonly keepsEscapedSlashes?: true
  readonly accessLog: boolean
  /** Absent: the one of the codebase. */
  readonly accessLogFormat?: LogFormat
  readonly requestMetrics: boolean
  /** Absent: no records of requests. */
  readonly remoteLog?: RemoteLog
  /** Absent: questions of DNS have no answer. */
  readonly dns?: Names
  /** Absent: no spans, and headers are left as they are. */
  readonly tracing?: Tracing
  /** Destinations that nothing else takes may be reached. */
  readonly egress: boolean
  readonly callers: Readonly<Record<string, Callers>>
  readonly served: readonly ServedPort[]
  readonly ingress: readonly IngressPort[]
  readonly called: readonly CalledService[]
  readonly outside: readonly EgressRule[]
  readonly ways?: Readonly<Record<string, WayOut>>
  /** The way of what no rule takes; one of the ways. Absent: it is reached directly, where egress is open. */
  readonly othersWay?: string
  readonly upstreams: Readonly<Record<string, Upstream>>
  readonly probes: readonly Probe[]
  /** In the order in which they are called. */
  readonly plugins: readonly Plugin[]
}

/** What goes to the sidecar of an identity and to no one else. */
export interface PipyCredentials {
  /** PEM, the leaf first. */
  readonly chain: string
  /** PEM. Absent: the chain is for the key of the certificate that the sidecar has polled with. */
  readonly key?: string
  /** What the policy names besides, as far as it is to be had. What needs one that is not there is closed. */
  readonly further?: Readonly<Record<CredentialKey, FurtherCredential>>
}

/** A credential besides the sidecar's own. */
export type FurtherCredential = FurtherCertificate | { readonly headerValue: string }

/** A client certificate with its key, and the roots that come with it. */
export interface FurtherCertificate {
  /** PEM, the leaf first. */
  readonly chain: string
  /** PEM. */
  readonly key: string
  /** PEM, one root each. */
  readonly roots: readonly string[]
}

/** The body of an answer of the config channel. */
export interface PipyDocument extends PipyConfig {
  readonly revision: string
  readonly credentials?: PipyCredentials
}
