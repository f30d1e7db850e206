import { type Capabilities, optionalFeatures } from '@osm-ts/driver-api'

/** Those of a driver that can do everything. */
export const allCapabilities: Capabilities = {
  protocols: ['http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex', 'segments'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  upstreamIdentity: 'principal',
  modes: ['explicit', 'transparent'],
  standalone: true,
  ipFamilies: ['IPv4', 'IPv6'],
  operatingSystems: ['linux'],
  drain: true,
  features: optionalFeatures,
}
