import { Type } from '@sinclair/typebox'

import { closed, list, oneOf } from '../../schema/builders.js'
import {
  hostSchema,
  meshServiceSchema,
  nameSchema,
  partHashSchema,
  portSchema,
  protocolSchema,
} from '../../schema/common.js'
import { externalAuthorizationSchema, rateLimitsSchema, routeLimitsSchema, routeMatchSchema } from './rules.js'

/** Schema of {@link InboundRules}. */
const inboundRulesSchema = Type.Union([
  closed({
    kind: Type.Literal('http'),
    hosts: list(hostSchema),
    allow: list(closed({ match: routeMatchSchema, allow: partHashSchema }), 1),
    routeLimits: list(routeLimitsSchema),
  }),
  closed({ kind: Type.Literal('tcp'), allow: partHashSchema }),
  closed({ kind: Type.Literal('deny') }),
])

/** Schema of {@link InboundPart}. */
export const inboundPartSchema = closed({
  kind: Type.Literal('inbound'),
  id: nameSchema,
  service: meshServiceSchema,
  port: portSchema,
  targetPort: portSchema,
  protocol: protocolSchema,
  serverNames: list(hostSchema, 1),
  rules: inboundRulesSchema,
  rateLimits: Type.Optional(rateLimitsSchema),
  externalAuthorization: Type.Optional(externalAuthorizationSchema),
})

/** Schema of {@link IngressPart}. */
export const ingressPartSchema = closed({
  kind: Type.Literal('ingress'),
  id: nameSchema,
  service: meshServiceSchema,
  port: portSchema,
  targetPort: portSchema,
  protocol: protocolSchema,
  sources: list(nameSchema, 1),
  tls: oneOf('none', 'tls', 'mtls'),
  serverNames: list(hostSchema),
  allow: Type.Optional(partHashSchema),
  matches: list(routeMatchSchema, 1),
  routeLimits: list(routeLimitsSchema),
  rateLimits: Type.Optional(rateLimitsSchema),
  externalAuthorization: Type.Optional(externalAuthorizationSchema),
})
