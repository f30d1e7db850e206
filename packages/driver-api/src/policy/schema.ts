import { Type } from '@sinclair/typebox'

import { closed, list, oneOf } from '../schema/builders.js'
import { nameSchema, partHashSchema } from '../schema/common.js'
import {
  clientRulesPartSchema,
  dnsPartSchema,
  egressPartSchema,
  endpointsPartSchema,
  extensionPartSchema,
  outboundPartSchema,
  setPartSchema,
  upstreamPartSchema,
} from './schema/called.js'
import { meshPartSchema, principalsPartSchema, proxyPartSchema, trustPartSchema } from './schema/own.js'
import { inboundPartSchema, ingressPartSchema } from './schema/served.js'

/** The JSON Schema of each kind of part, by kind. */
export const partSchemas = {
  proxy: proxyPartSchema,
  trust: trustPartSchema,
  mesh: meshPartSchema,
  principals: principalsPartSchema,
  inbound: inboundPartSchema,
  ingress: ingressPartSchema,
  outbound: outboundPartSchema,
  upstream: upstreamPartSchema,
  endpoints: endpointsPartSchema,
  clientRules: clientRulesPartSchema,
  egress: egressPartSchema,
  dns: dnsPartSchema,
  extension: extensionPartSchema,
  set: setPartSchema,
} as const

/** JSON Schema of {@link Part}. */
export const partSchema = Type.Union([
  // Flat, so that `kind` tells all variants apart.
  proxyPartSchema,
  trustPartSchema,
  meshPartSchema,
  ...principalsPartSchema.anyOf,
  inboundPartSchema,
  ingressPartSchema,
  outboundPartSchema,
  upstreamPartSchema,
  endpointsPartSchema,
  clientRulesPartSchema,
  egressPartSchema,
  dnsPartSchema,
  extensionPartSchema,
  setPartSchema,
])

/** JSON Schema of {@link PartRef}. */
export const partRefSchema = closed({
  kind: oneOf(
    'proxy',
    'trust',
    'mesh',
    'principals',
    'inbound',
    'ingress',
    'outbound',
    'upstream',
    'endpoints',
    'clientRules',
    'egress',
    'dns',
    'extension',
    'set',
  ),
  id: nameSchema,
  hash: partHashSchema,
})

/** JSON Schema of {@link PolicyUpdate}. */
export const policyUpdateSchema = closed({
  revision: Type.Integer({ minimum: 0 }),
  version: partHashSchema,
  proxy: proxyPartSchema,
  added: list(partRefSchema),
  removed: list(partRefSchema),
})

/** JSON Schema of {@link ProxyPolicy}. */
export const proxyPolicySchema = closed({
  policyVersion: Type.Literal(1),
  version: partHashSchema,
  proxy: proxyPartSchema,
  parts: Type.Record(Type.String({ pattern: '^[A-Za-z0-9_-]{32}$' }), partSchema, { additionalProperties: false }),
})
