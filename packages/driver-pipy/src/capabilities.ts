import { type Capabilities, type OptionalFeature, optionalFeatures } from '@osm-ts/driver-api'

/**
 * What Pipy does not do here, and why. The host refuses or reports a policy that needs it; everything else that the contract lists, the codebase does.
 *
 * A feature leaves this table in the same change that brings it to the codebase.
 */
export const unsupportedFeatures = {
  'access-log-format': 'lines of the access log have one form, that of the codebase',
  'access-log-opentelemetry': 'Pipy has no exporter of OpenTelemetry logs',
  'active-health-checks':
    'the codebase asks no endpoint whether it is well; those that can not be connected to are left out for a while',
  'dns-proxy': 'the codebase answers no DNS',
  'egress-gateway-http2tunnel': 'the codebase has no tunnels; what is to leave through gateways does not leave',
  'egress-gateway-socks5': 'the codebase has no tunnels; what is to leave through gateways does not leave',
  'egress-tls-origination': 'the codebase speaks no TLS for workloads; such requests are answered 503',
  'external-authorization':
    'the protocol of external authorization is that of Envoy, over gRPC with messages that PipyJS has no types for',
  'multi-cluster': 'gateways of other clusters that ask for a path, or another form of TLS, are not reached',
  'probes-grpc': 'health checks by gRPC need HTTP/2 and protobuf messages from a script that has neither ready-made',
  'rate-limit-global': 'the protocol of rate limit services is that of Envoy, over gRPC',
  'remote-logging': 'the codebase writes its log to the standard output only',
  'tls-parameters': 'acceptTLS and connectTLS have no elliptic curves to choose from',
  'tracing-opentelemetry': 'Pipy has no exporter of OpenTelemetry traces',
  'tracing-zipkin': 'the codebase sends no spans',
} as const satisfies Readonly<Partial<Record<OptionalFeature, string>>>

/** What this driver enforces, and nothing beyond it: the host refuses or reports the rest. */
export const capabilities: Capabilities = {
  protocols: ['grpc', 'http', 'http2', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex'],
  headerMatches: ['exact', 'prefix', 'regex', 'present'],
  // Pipy shows scripts the common name and the DNS names of a peer, and a principal is both.
  upstreamIdentity: 'principal',
  modes: ['explicit', 'transparent'],
  standalone: true,
  // Pipy asks the kernel for the original destination of IPv4 connections only.
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: true,
  features: optionalFeatures.filter((feature) => !Object.hasOwn(unsupportedFeatures, feature)),
}
