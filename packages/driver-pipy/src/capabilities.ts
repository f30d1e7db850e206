import { type Capabilities, type OptionalFeature, optionalFeatures } from '@osm-ts/driver-api'

/**
 * What class pipy does not do, and why. The host refuses or reports a policy that needs it; everything else that the contract lists, the codebase does,
 * and tests with a real Pipy have seen it.
 *
 * A feature leaves this table in the same change that brings it to the codebase.
 */
export const unsupportedFeatures = {
  'access-log-opentelemetry': 'Pipy has no exporter of OpenTelemetry logs',
  'external-authorization':
    'the protocol of external authorization is that of Envoy, over gRPC with messages that PipyJS has no types for',
  'ingress-tcp':
    'callers without mutual TLS are let in to ports that speak HTTP only, where rules look at each request',
  'plaintext-endpoints':
    'endpoints of services of the mesh are called over mutual TLS only; those without a sidecar get no traffic',
  'pod-addresses':
    'no test with a real Pipy has called a pod by its own address; the calls of a service reach its endpoints',
  'proxy-certificate-renewal': 'Pipy reads its proxy certificate once, when it starts',
  'rate-limit-global': 'the protocol of rate limit services is that of Envoy, over gRPC',
  'route-retries': 'its codebase repeats requests by the Retry of a client only; the requests themselves are routed',
  'tls-parameters': 'acceptTLS and connectTLS have no elliptic curves to choose from',
  'tls-routes': 'its codebase reads no server name of connections to services of the mesh',
  'tracing-opentelemetry': 'Pipy has no exporter of OpenTelemetry traces',
} as const satisfies Readonly<Partial<Record<OptionalFeature, string>>>

/** What this driver enforces, and nothing beyond it: the host refuses or reports the rest. */
export const capabilities: Capabilities = {
  protocols: ['http', 'http2', 'grpc', 'https', 'tcp', 'tcp-server-first'],
  pathMatches: ['exact', 'prefix', 'regex', 'segments'],
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
