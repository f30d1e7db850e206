import type { Protocol } from './policy/parts.js'

/** Features that a driver may declare individually. The host refuses or reports everything that is not declared; nothing is dropped silently. */
export const optionalFeatures = [
  'retries',
  'per-try-timeout',
  'rate-limit-local-tcp',
  'rate-limit-local-http',
  'rate-limit-global',
  'connection-limits',
  'statistical-circuit-breaker',
  'active-health-checks',
  'external-authorization',
  'egress-global',
  'egress-http',
  'egress-https',
  'egress-tcp',
  'egress-tls-origination',
  'egress-gateway-http2tunnel',
  'egress-gateway-socks5',
  'ingress-http',
  'ingress-https',
  'ingress-tcp',
  'tracing-zipkin',
  'tracing-opentelemetry',
  'remote-logging',
  'access-log-format',
  'access-log-opentelemetry',
  'request-metrics',
  'dns-proxy',
  'multi-cluster',
  'probes-http',
  'probes-https',
  'probes-tcp',
  'probes-grpc',
  'tls-parameters',
  'load-balancing-hash',
  'load-balancing-least-request',
  'load-balancing-locality',
  'plaintext-endpoints',
  'pod-addresses',
  'escaped-slashes',
  'withdrawal-of-open-connections',
  'workload-end',
  'plugins',
  'proxy-key-certificates',
  'proxy-certificate-renewal',
  'workload-api-certificates',
  'query-matches',
  'route-errors',
  'route-headers',
  'route-target-headers',
  'route-redirects',
  'route-rewrites',
  'route-mirrors',
  'route-retries',
  'tcp-route-errors',
  'tls-routes',
] as const

/** One of {@link optionalFeatures}. */
export type OptionalFeature = (typeof optionalFeatures)[number]

/** What a driver can enforce, as data. The host checks every policy against it. Lists have no duplicates; their order is not significant. */
export interface Capabilities {
  /** Application protocols that the proxy supports. Mutual TLS, principals and the deny form are mandatory and not listed. */
  readonly protocols: readonly Protocol[]
  /** Path matchers that the proxy supports, for allow rules and routes. */
  readonly pathMatches: readonly ('exact' | 'prefix' | 'regex' | 'segments')[]
  /** Header matchers that the proxy supports; empty if it cannot match headers. */
  readonly headerMatches: readonly ('exact' | 'prefix' | 'regex' | 'present')[]
  /** Verification of the upstream certificate. `principal`: its SAN is checked against the principals of the upstream. `serviceName`: its SAN is checked against the SNI name only. */
  readonly upstreamIdentity: 'principal' | 'serviceName'
  /** Proxy modes that the sidecar supports. */
  readonly modes: readonly ('explicit' | 'transparent')[]
  /** True if the sidecar can run as an ordinary process, outside a pod. */
  readonly standalone: boolean
  /** IP families that the proxy supports; the host blocks the other family in its network namespaces. */
  readonly ipFamilies: readonly ('IPv4' | 'IPv6')[]
  /** Operating systems that the sidecar supports. */
  readonly operatingSystems: readonly ('linux' | 'windows' | 'darwin')[]
  /** True if the sidecar can stop accepting connections, complete open requests and then exit. */
  readonly drain: boolean
  /** Optional features that the sidecar supports. */
  readonly features: readonly OptionalFeature[]
}
