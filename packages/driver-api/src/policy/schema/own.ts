import { Type } from '@sinclair/typebox'

import { closed, list, oneOf } from '../../schema/builders.js'
import {
  classSchema,
  credentialRefSchema,
  durationSchema,
  fractionSchema,
  httpHeadersSchema,
  localitySchema,
  nameSchema,
  partHashSchema,
  portSchema,
  positiveDurationSchema,
  principalSchema,
  proxyUuidSchema,
  serviceIdentitySchema,
  socketAddressSchema,
  spiffeIdSchema,
} from '../../schema/common.js'

const probeBinding = closed({
  container: nameSchema,
  probe: oneOf('liveness', 'readiness', 'startup'),
  listen: socketAddressSchema,
  path: Type.String({ pattern: '^/[^?#]*$' }),
  target: closed({
    type: oneOf('http', 'https', 'tcp', 'grpc'),
    port: portSchema,
    path: Type.Optional(Type.String()),
    headers: Type.Optional(httpHeadersSchema),
    service: Type.Optional(Type.String()),
  }),
  timeoutMs: positiveDurationSchema,
})

const servedBinding = closed({
  part: partHashSchema,
  id: nameSchema,
  listen: Type.Optional(socketAddressSchema),
  local: socketAddressSchema,
})

/** Schema of {@link ListenAddresses}. */
export const listenAddressesSchema = closed({
  inbound: Type.Optional(socketAddressSchema),
  outbound: Type.Optional(socketAddressSchema),
  outboundHttp: Type.Optional(socketAddressSchema),
  metrics: Type.Optional(socketAddressSchema),
  admin: Type.Optional(socketAddressSchema),
  dns: Type.Optional(socketAddressSchema),
})

/** Schema of {@link ProxyPart}. */
export const proxyPartSchema = closed({
  kind: Type.Literal('proxy'),
  id: proxyUuidSchema,
  identity: serviceIdentitySchema,
  principal: principalSchema,
  spiffeId: spiffeIdSchema,
  class: classSchema,
  mode: oneOf('transparent', 'explicit'),
  namespace: nameSchema,
  workload: closed({ kind: Type.String(), name: Type.String(), instance: Type.String() }),
  workloadEnded: Type.Optional(Type.Literal(true)),
  locality: localitySchema,
  cluster: Type.String(),
  ipFamilies: list(oneOf('IPv4', 'IPv6'), 1),
  addresses: list(nameSchema),
  listen: listenAddressesSchema,
  probes: list(probeBinding),
  inbound: list(servedBinding),
  ingress: list(servedBinding),
  outboundBindings: list(closed({ id: nameSchema, listen: socketAddressSchema })),
  trust: partHashSchema,
  mesh: partHashSchema,
  outbound: Type.Optional(partHashSchema),
  upstreams: Type.Optional(partHashSchema),
  endpoints: Type.Optional(partHashSchema),
  egress: Type.Optional(partHashSchema),
  clientRules: Type.Optional(partHashSchema),
  dns: Type.Optional(partHashSchema),
  extensions: list(partHashSchema),
})

/** Schema of {@link TlsVersion}. */
export const tlsVersionSchema = oneOf('TLS_AUTO', 'TLSv1_0', 'TLSv1_1', 'TLSv1_2', 'TLSv1_3')

/** Schema of {@link TrustPart}. */
export const trustPartSchema = closed({
  kind: Type.Literal('trust'),
  id: Type.Literal('trust'),
  trustDomain: nameSchema,
  roots: list(Type.String({ pattern: '-----BEGIN CERTIFICATE-----' }), 1),
  minVersion: tlsVersionSchema,
  maxVersion: tlsVersionSchema,
  cipherSuites: list(nameSchema),
  ecdhCurves: list(nameSchema),
  alpn: Type.Literal('osm'),
  serviceCredential: Type.Optional(closed({ kind: Type.Literal('workload-api') })),
})

const accessLog = closed({
  enabled: Type.Boolean(),
  format: oneOf('json', 'text'),
  template: Type.Optional(nameSchema),
  openTelemetry: Type.Optional(
    closed({
      host: nameSchema,
      port: portSchema,
      connectTimeoutMs: Type.Optional(positiveDurationSchema),
      attributes: list(closed({ key: nameSchema, value: Type.String() })),
    }),
  ),
})

const tracing = closed({
  provider: oneOf('zipkin', 'opentelemetry'),
  host: nameSchema,
  port: portSchema,
  endpoint: Type.String({ pattern: '^/' }),
  sampledFraction: fractionSchema,
})

const remoteLogging = closed({
  host: nameSchema,
  port: portSchema,
  endpoint: Type.String({ pattern: '^/' }),
  level: oneOf(0, 1, 2),
  sampledFraction: fractionSchema,
  authorization: Type.Optional(credentialRefSchema),
})

/** Schema of {@link MeshPart}. */
export const meshPartSchema = closed({
  kind: Type.Literal('mesh'),
  id: Type.Literal('mesh'),
  meshName: nameSchema,
  logLevel: oneOf('trace', 'debug', 'info', 'warning', 'error', 'critical', 'off'),
  accessLog,
  tracing: Type.Optional(tracing),
  remoteLogging: Type.Optional(remoteLogging),
  requestMetrics: Type.Boolean(),
  connectTimeoutMs: positiveDurationSchema,
  tcpIdleTimeoutMs: durationSchema,
  streamIdleTimeoutMs: durationSchema,
  http1PerRequestLoadBalancing: Type.Boolean(),
  http2PerRequestLoadBalancing: Type.Boolean(),
  egressEnabled: Type.Boolean(),
  withdrawalTimeoutMs: durationSchema,
  activeHealthChecks: Type.Boolean(),
  keepsOtherSpellings: Type.Optional(Type.Literal(true)),
  keepsEscapedSlashes: Type.Optional(Type.Literal(true)),
})

/** Schema of {@link PrincipalsPart}. */
export const principalsPartSchema = Type.Union([
  closed({
    kind: Type.Literal('principals'),
    id: nameSchema,
    match: Type.Literal('trustDomain'),
    trustDomain: nameSchema,
  }),
  closed({
    kind: Type.Literal('principals'),
    id: nameSchema,
    match: Type.Literal('list'),
    principals: list(principalSchema),
  }),
])
