import { Type } from '@sinclair/typebox'

import { closed, list, oneOf } from '../../schema/builders.js'
import {
  classSchema,
  countSchema,
  credentialRefSchema,
  durationSchema,
  hostSchema,
  jsonValueSchema,
  localitySchema,
  meshServiceSchema,
  nameSchema,
  partHashSchema,
  portSchema,
  positiveDurationSchema,
  principalSchema,
  protocolSchema,
  serviceIdentitySchema,
  socketAddressSchema,
} from '../../schema/common.js'
import {
  activeHealthCheckSchema,
  connectionLimitsSchema,
  loadBalancingSchema,
  retryPolicySchema,
  routeMatchSchema,
  statisticalCircuitBreakerSchema,
} from './rules.js'

const targets = list(closed({ upstream: nameSchema, weight: countSchema }))
const routes = list(closed({ match: routeMatchSchema, targets, timeoutMs: durationSchema }))

/** Schema of {@link OutboundPart}. */
export const outboundPartSchema = closed({
  kind: Type.Literal('outbound'),
  id: nameSchema,
  service: meshServiceSchema,
  port: portSchema,
  protocol: protocolSchema,
  addresses: list(nameSchema),
  sharedWith: Type.Optional(list(nameSchema, 1)),
  hosts: list(hostSchema),
  shortHost: hostSchema,
  rules: Type.Union([closed({ kind: Type.Literal('http'), routes }), closed({ kind: Type.Literal('tcp'), targets })]),
})

/** Schema of {@link UpstreamTls}. */
const upstreamTlsSchema = Type.Union([
  closed({
    mode: Type.Literal('mesh'),
    serverName: hostSchema,
    principals: list(principalSchema, 1),
    plaintext: Type.Optional(Type.Literal(true)),
  }),
  closed({
    mode: Type.Literal('originate'),
    serverName: hostSchema,
    subjectAltNames: list(nameSchema),
    credential: Type.Optional(credentialRefSchema),
    roots: Type.Optional(credentialRefSchema),
  }),
  closed({ mode: Type.Literal('none') }),
])

const discovery = Type.Union([
  closed({ kind: Type.Literal('endpoints') }),
  closed({ kind: Type.Literal('dns'), host: hostSchema, port: portSchema }),
  closed({ kind: Type.Literal('originalDestination'), port: Type.Optional(portSchema) }),
  closed({ kind: Type.Literal('forwardProxy') }),
  closed({ kind: Type.Literal('static'), addresses: list(socketAddressSchema) }),
])

/** Schema of {@link UpstreamPart}. */
export const upstreamPartSchema = closed({
  kind: Type.Literal('upstream'),
  id: nameSchema,
  service: Type.Optional(meshServiceSchema),
  port: portSchema,
  protocol: protocolSchema,
  tls: upstreamTlsSchema,
  discovery,
  loadBalancing: loadBalancingSchema,
  connectTimeoutMs: Type.Optional(positiveDurationSchema),
  limits: Type.Optional(connectionLimitsSchema),
  circuitBreaker: Type.Optional(statisticalCircuitBreakerSchema),
  healthCheck: Type.Optional(activeHealthCheckSchema),
})

const policyEndpoint = closed({
  address: nameSchema,
  port: portSchema,
  weight: countSchema,
  priority: countSchema,
  locality: localitySchema,
  cluster: Type.String(),
  identity: Type.Optional(serviceIdentitySchema),
  class: Type.Optional(classSchema),
  path: Type.Optional(Type.String({ pattern: '^/' })),
  tls: Type.Optional(upstreamTlsSchema),
})

/** Schema of {@link EndpointsPart}. */
export const endpointsPartSchema = closed({
  kind: Type.Literal('endpoints'),
  id: nameSchema,
  preferClose: Type.Optional(Type.Literal(true)),
  endpoints: list(policyEndpoint),
})

/** Schema of {@link ClientRulesPart}. */
export const clientRulesPartSchema = closed({
  kind: Type.Literal('clientRules'),
  id: serviceIdentitySchema,
  retries: list(closed({ outbound: nameSchema, policy: retryPolicySchema })),
  preFilters: list(closed({ outbound: nameSchema, allow: list(routeMatchSchema) })),
  egressCredentials: list(closed({ egress: nameSchema, credential: credentialRefSchema })),
  gateways: list(closed({ egress: nameSchema, mode: oneOf('http2tunnel', 'socks5'), targets })),
})

/** Schema of {@link EgressPart}. */
export const egressPartSchema = closed({
  kind: Type.Literal('egress'),
  id: nameSchema,
  port: portSchema,
  protocol: oneOf('http', 'https', 'tcp', 'tcp-server-first'),
  hosts: list(hostSchema),
  serverNames: list(hostSchema),
  cidrs: list(nameSchema),
  routes,
  targets,
})

/** Schema of {@link DnsPart}. */
export const dnsPartSchema = closed({
  kind: Type.Literal('dns'),
  id: nameSchema,
  ttlSeconds: countSchema,
  records: list(closed({ name: hostSchema, addresses: list(nameSchema) })),
  upstreamServers: list(nameSchema),
})

/** Schema of {@link ExtensionPart}. */
export const extensionPartSchema = closed({
  kind: Type.Literal('extension'),
  id: nameSchema,
  class: classSchema,
  type: nameSchema,
  value: jsonValueSchema,
})

/** Schema of {@link SetPart}. */
export const setPartSchema = closed({
  kind: Type.Literal('set'),
  id: nameSchema,
  of: oneOf('outbound', 'upstream', 'endpoints', 'egress'),
  members: list(closed({ id: nameSchema, hash: partHashSchema })),
  sets: list(closed({ id: nameSchema, hash: partHashSchema, shortNames: Type.Optional(Type.Literal(true)) })),
})
