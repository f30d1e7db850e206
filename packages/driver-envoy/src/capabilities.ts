import type { Capabilities } from '@osm-ts/driver-api'

/**
 * What this driver enforces, and nothing beyond it: the host refuses or reports the rest.
 *
 * `egress-https` and `egress-tcp` select by what the workload dialled and therefore work in transparent mode only; in explicit mode such destinations are
 * refused. `egress-tls-origination` shows the proxy's own certificate to servers with certificates of the mesh, and certificates of Secrets to servers that
 * the roots beside them have signed; what mixes the two is refused.
 */
export const capabilities: Capabilities = {
  protocols: ['grpc', 'http', 'http2', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  upstreamIdentity: 'principal',
  modes: ['explicit', 'transparent'],
  standalone: true,
  ipFamilies: ['IPv4', 'IPv6'],
  operatingSystems: ['darwin', 'linux'],
  drain: true,
  features: [
    'access-log-format',
    'access-log-opentelemetry',
    'active-health-checks',
    'connection-limits',
    'egress-gateway-http2tunnel',
    'egress-global',
    'egress-http',
    'egress-https',
    'egress-tcp',
    'egress-tls-origination',
    'escaped-slashes',
    'external-authorization',
    'ingress-http',
    'ingress-https',
    'ingress-tcp',
    'load-balancing-hash',
    'load-balancing-least-request',
    'load-balancing-locality',
    'multi-cluster',
    'per-try-timeout',
    'plaintext-endpoints',
    'probes-grpc',
    'probes-http',
    'probes-https',
    'probes-tcp',
    'proxy-certificate-renewal',
    'proxy-key-certificates',
    'rate-limit-global',
    'rate-limit-local-http',
    'rate-limit-local-tcp',
    'request-metrics',
    'retries',
    'statistical-circuit-breaker',
    'tls-parameters',
    'tracing-opentelemetry',
    'tracing-zipkin',
    'withdrawal-of-open-connections',
    'workload-end',
  ],
}
