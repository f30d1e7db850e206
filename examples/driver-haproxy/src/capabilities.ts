import type { Capabilities, OptionalFeature } from '@osm-ts/driver-api'

/** What class haproxy does beyond what every class does. The host refuses or reports a policy that needs anything else. */
const features: readonly OptionalFeature[] = [
  'escaped-slashes',
  'load-balancing-least-request',
  'probes-http',
  'probes-https',
  'probes-tcp',
  'probes-grpc',
  'withdrawal-of-open-connections',
  'proxy-key-certificates',
  'proxy-certificate-renewal',
  'query-matches',
  'route-errors',
  'tcp-route-errors',
  'route-headers',
  'route-target-headers',
  'route-redirects',
  'route-rewrites',
]

/** What this driver enforces, and nothing beyond it. README.md says why the rest is not here. */
export const capabilities: Capabilities = {
  protocols: ['http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex', 'segments'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  // HAProxy 2.6 compares the certificate of a server with one name.
  upstreamIdentity: 'serviceName',
  modes: ['explicit', 'transparent'],
  standalone: true,
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: true,
  features,
}
