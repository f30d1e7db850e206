import type { HeaderMatch } from './matching.js'
import type { HostAddress, HttpHeader } from './values.js'

/** A token bucket: refilled with `tokens` per `intervalMs`, holding at most `tokens + burst`. */
export interface TokenBucket {
  /** Tokens added per interval; at least 1. */
  readonly tokens: number
  /** Milliseconds. */
  readonly intervalMs: number
  /** Tokens that may be saved up beyond `tokens`. */
  readonly burst: number
}

/** A local limit on new TCP connections; excess connections are closed. */
export interface TcpLocalRateLimit {
  /** One token per connection. */
  readonly bucket: TokenBucket
}

/** A local limit on HTTP requests; excess requests get `statusCode`. */
export interface HttpLocalRateLimit {
  /** One token per request. */
  readonly bucket: TokenBucket
  /** 400 to 599; 429 by default. */
  readonly statusCode: number
  /** Added to the answer of excess requests, in this order. */
  readonly responseHeaders: readonly HttpHeader[]
}

/** One descriptor of a global limit on connections. */
export interface TcpRateLimitDescriptor {
  /** In the order in which the service sees them. */
  readonly entries: readonly TcpRateLimitDescriptorEntry[]
}

/** A constant entry of a descriptor. */
export interface TcpRateLimitDescriptorEntry {
  /** Key of the entry. */
  readonly key: string
  /** Value of the entry. */
  readonly value: string
}

/** A limit on new TCP connections, counted by a service that many proxies share; excess connections are closed. */
export interface TcpGlobalRateLimit {
  /** The rate-limit service (gRPC, Envoy's rate-limit protocol version 3). */
  readonly service: HostAddress
  /** Domain of the limits, unique for the service. */
  readonly domain: string
  /** Longest wait for an answer, in milliseconds. */
  readonly timeoutMs: number
  /** True allows traffic while the service is unavailable. */
  readonly failOpen: boolean
  /** In the order in which the service sees them. */
  readonly descriptors: readonly TcpRateLimitDescriptor[]
}

/** An entry of a descriptor of a global limit on requests. If an entry cannot be created, its whole descriptor is dropped. */
export type HttpRateLimitDescriptorEntry =
  /** A constant. */
  | { readonly kind: 'constant'; readonly key: string; readonly value: string }
  /** Key `remote_address` and the caller's IP address. */
  | { readonly kind: 'remoteAddress' }
  /** `key` and the value of a request header; cannot be created without that header. `header` is lower case. */
  | { readonly kind: 'requestHeader'; readonly key: string; readonly header: string }
  /** `key` and `value`; created only if all of `headers` match or, with `expectMatch` false, if not all of them match. */
  | {
      readonly kind: 'headerMatch'
      readonly key: string
      readonly value: string
      readonly expectMatch: boolean
      readonly headers: readonly HeaderMatch[]
    }

/** One descriptor of a global limit on requests. */
export interface HttpRateLimitDescriptor {
  /** In the order in which the service sees them. */
  readonly entries: readonly HttpRateLimitDescriptorEntry[]
}

/** A limit on HTTP requests, counted by a service that many proxies share; excess requests get `statusCode`. */
export interface HttpGlobalRateLimit {
  /** The rate-limit service (gRPC, Envoy's rate-limit protocol version 3). */
  readonly service: HostAddress
  /** Domain of the limits, unique for the service. */
  readonly domain: string
  /** Longest wait for an answer, in milliseconds. */
  readonly timeoutMs: number
  /** True allows traffic while the service is unavailable. */
  readonly failOpen: boolean
  /** 400 to 599; 429 by default. */
  readonly statusCode: number
  /** True adds `x-ratelimit-limit`, `x-ratelimit-remaining` and `x-ratelimit-reset` to answers. */
  readonly limitHeaders: boolean
  /** For every request of the port, in the order in which the service sees them. */
  readonly descriptors: readonly HttpRateLimitDescriptor[]
}

/** Limits of a whole port. `http` and `globalHttp` occur on HTTP ports only. */
export interface RateLimits {
  /** On new connections, counted by the proxy itself. */
  readonly tcp?: TcpLocalRateLimit
  /** On requests, counted by the proxy itself. */
  readonly http?: HttpLocalRateLimit
  /** On new connections, counted by a service. */
  readonly globalTcp?: TcpGlobalRateLimit
  /** On requests, counted by a service. */
  readonly globalHttp?: HttpGlobalRateLimit
}

/** Limits of the requests of one route. */
export interface RouteRateLimits {
  /** Replaces the port's local limit for these requests. */
  readonly http?: HttpLocalRateLimit
  /** Replace the descriptors of the port's {@link RateLimits.globalHttp}, whose service and domain they use. */
  readonly globalHttpDescriptors?: readonly HttpRateLimitDescriptor[]
}

/** Asks an external gRPC service for each request; a denial is answered 403. */
export interface ExternalAuthorization {
  /** DNS name or IP address. */
  readonly host: string
  /** 1 to 65535. */
  readonly port: number
  /** Names the filter's statistics. */
  readonly statPrefix: string
  /** Longest wait for an answer, in milliseconds. */
  readonly timeoutMs: number
  /** True allows requests while the service is unavailable. */
  readonly failureModeAllow: boolean
}

/** When and how a client's proxy repeats a failed request. */
export interface RetryPolicy {
  /** Conditions in the vocabulary of OSM's `Retry` (`5xx`, `gateway-error`, `connect-failure`, …), sorted. */
  readonly retryOn: readonly string[]
  /** Repetitions beyond the first attempt. */
  readonly numRetries: number
  /** Longest wait for one attempt, in milliseconds; absent means the route's timeout. */
  readonly perTryTimeoutMs?: number
  /** First pause of the exponential backoff, in milliseconds; absent means the proxy's own. */
  readonly backoffBaseIntervalMs?: number
}

/** Upper bounds on what a client's proxy keeps open towards an upstream. Absent means unlimited. */
export interface ConnectionLimits {
  /** Connections at a time. */
  readonly maxConnections?: number
  /** Requests that wait for a connection. */
  readonly maxPendingRequests?: number
  /** Requests at a time. */
  readonly maxRequests?: number
  /** Requests after which a connection is closed. */
  readonly maxRequestsPerConnection?: number
  /** Retries at a time. */
  readonly maxRetries?: number
}

/** A circuit breaker on statistics of the last window; while it is open, requests get the degraded response. */
export interface StatisticalCircuitBreaker {
  /** Length of the window, in milliseconds. */
  readonly statWindowMs: number
  /** Minimum number of requests in a window for the breaker to open. */
  readonly minRequests: number
  /** Time that the circuit stays open, in milliseconds. */
  readonly degradedWindowMs: number
  /** Milliseconds after which an answer counts as slow. */
  readonly slowThresholdMs?: number
  /** Number of slow responses in a window that opens the circuit. */
  readonly slowAmount?: number
  /** Share of slow responses that opens the circuit, 0 to 1. */
  readonly slowRatio?: number
  /** Number of failed requests in a window that opens the circuit. */
  readonly errorAmount?: number
  /** Share of failed requests that opens the circuit, 0 to 1. */
  readonly errorRatio?: number
  /** Status of the degraded response. */
  readonly degradedStatusCode: number
  /** Body of the degraded response. */
  readonly degradedBody: string
}

/** Probes every endpoint at an interval and stops using failed endpoints. */
export interface ActiveHealthCheck {
  /** `http` requests `path` with the header `HEALTH_CHECK_HEADER`; `tcp` opens a connection. */
  readonly type: 'http' | 'tcp'
  /** Milliseconds between probes of one endpoint. */
  readonly intervalMs: number
  /** Milliseconds until an unanswered probe counts as failed. */
  readonly timeoutMs: number
  /** With `http` only. */
  readonly path?: string
  /** Failures in a row after which an endpoint is no longer used. */
  readonly unhealthyThreshold: number
  /** Successes in a row after which it is used again. */
  readonly healthyThreshold: number
}

/** How a client's proxy chooses among endpoints. */
export type LoadBalancing =
  | { readonly policy: 'round-robin' }
  | { readonly policy: 'least-request' }
  /** Keeps a client address on one endpoint. */
  | { readonly policy: 'hash'; readonly on: 'source-ip' }
