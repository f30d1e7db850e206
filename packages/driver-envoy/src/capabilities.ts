import type { Capabilities } from '@osm-ts/driver-api'

/** What this driver enforces, and nothing beyond it: the host refuses or reports the rest. */
export const capabilities: Capabilities = {
  protocols: ['grpc', 'http', 'http2', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  upstreamIdentity: 'principal',
  modes: ['explicit', 'transparent'],
  standalone: true,
  ipFamilies: ['IPv4', 'IPv6'],
  operatingSystems: ['linux'],
  drain: true,
  features: [
    'active-health-checks',
    'connection-limits',
    'egress-global',
    'load-balancing-hash',
    'load-balancing-least-request',
    'per-try-timeout',
    'probes-grpc',
    'probes-http',
    'probes-https',
    'rate-limit-local-http',
    'rate-limit-local-tcp',
    'retries',
    'tls-parameters',
    'withdrawal-of-open-connections',
  ],
}
