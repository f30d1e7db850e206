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
  positiveCountSchema,
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
  outboundMatchSchema,
  retryPolicySchema,
  routeMatchSchema,
  statisticalCircuitBreakerSchema,
} from './rules.js'

const targets = list(closed({ upstream: nameSchema, weight: countSchema }))

const connectionShares = { targets, errorWeight: Type.Optional(positiveCountSchema) }
const serverNameSchema = Type.String({ pattern: '^(\\*\\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' })

const changedHeaderName = Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9a-z-]+$" })
const changedHeaders = Type.Optional(list(closed({ name: changedHeaderName, value: Type.String() }), 1))

/** Schema of {@link HeaderChanges}. */
const headerChangesSchema = Type.Object(
  { set: changedHeaders, add: changedHeaders, remove: Type.Optional(list(changedHeaderName, 1)) },
  { additionalProperties: false, minProperties: 1 },
)

const headerChanges = {
  requestHeaders: Type.Optional(headerChangesSchema),
  responseHeaders: Type.Optional(headerChangesSchema),
}

const changedPath = Type.Optional(
  Type.Union([
    closed({ type: Type.Literal('full'), value: Type.String({ pattern: '^/' }) }),
    closed({ type: Type.Literal('prefix'), value: Type.String({ pattern: '^(/.*[^/])?$' }) }),
  ]),
)

/** Schema of {@link OutboundRoute}. */
const outboundRouteSchema = closed({
  match: outboundMatchSchema,
  targets: list(closed({ upstream: nameSchema, weight: countSchema, ...headerChanges })),
  timeoutMs: durationSchema,
  errorWeight: Type.Optional(positiveCountSchema),
  errorStatus: Type.Optional(Type.Literal(503)),
  redirect: Type.Optional(
    closed({
      status: Type.Union([
        Type.Literal(301),
        Type.Literal(302),
        Type.Literal(303),
        Type.Literal(307),
        Type.Literal(308),
      ]),
      scheme: Type.Optional(oneOf('http', 'https')),
      host: Type.Optional(hostSchema),
      port: Type.Optional(portSchema),
      path: changedPath,
    }),
  ),
  ...headerChanges,
  rewrite: Type.Optional(
    Type.Object(
      { host: Type.Optional(hostSchema), path: changedPath },
      { additionalProperties: false, minProperties: 1 },
    ),
  ),
  mirrors: Type.Optional(
    list(closed({ upstream: nameSchema, perMillion: Type.Integer({ minimum: 1, maximum: 1_000_000 }) }), 1),
  ),
  retries: Type.Optional(retryPolicySchema),
})
const routes = list(outboundRouteSchema)

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
  rules: Type.Union([
    closed({ kind: Type.Literal('http'), routes }),
    closed({
      kind: Type.Literal('tcp'),
      ...connectionShares,
      serverNameRoutes: Type.Optional(list(closed({ serverNames: list(serverNameSchema, 1), ...connectionShares }), 1)),
    }),
  ]),
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
  network: Type.Optional(nameSchema),
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
