import type { Protocol } from './policy/parts.js'

/** Features that a driver may declare one by one. Everything not declared is refused by the host or reported, never dropped silently. */
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
  'escaped-slashes',
  'withdrawal-of-open-connections',
  'workload-end',
  'plugins',
] as const

/** One of {@link optionalFeatures}. */
export type OptionalFeature = (typeof optionalFeatures)[number]

/** What a driver can enforce, as data. The host checks every policy against it. No list holds anything twice; their order means nothing. */
export interface Capabilities {
  /** Mutual TLS, principals and the deny form are not optional and therefore not listed. */
  readonly protocols: readonly Protocol[]
  /** Path matchers that the proxy has, for allow rules and routes alike. */
  readonly pathMatches: readonly ('exact' | 'prefix' | 'regex')[]
  /** Header matchers that the proxy has; empty if it can't match headers. */
  readonly headerMatches: readonly ('exact' | 'prefix' | 'regex' | 'present')[]
  /** `principal`: the upstream's SAN is checked against its principals. `serviceName`: against the SNI name, where the proxy can do no better. */
  readonly upstreamIdentity: 'principal' | 'serviceName'
  /** Modes in which the proxy can run. */
  readonly modes: readonly ('explicit' | 'transparent')[]
  /** True if the sidecar also runs as a plain process. */
  readonly standalone: boolean
  /** Families that the proxy handles; the host refuses the other one in its network namespaces. */
  readonly ipFamilies: readonly ('IPv4' | 'IPv6')[]
  /** Where the sidecar runs. */
  readonly operatingSystems: readonly ('linux' | 'windows' | 'darwin')[]
  /** True if the sidecar can stop accepting, finish what is open and then end. */
  readonly drain: boolean
  /** What it has beyond what every class has. */
  readonly features: readonly OptionalFeature[]
}
