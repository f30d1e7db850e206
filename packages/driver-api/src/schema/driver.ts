import { Type } from '@sinclair/typebox'

import { optionalFeatures } from '../capabilities.js'
import { closed, list, oneOf } from './builders.js'
import { nameSchema, partHashSchema, portSchema, positiveDurationSchema, protocolSchema } from './common.js'

/** JSON Schema of {@link Capabilities}. */
export const capabilitiesSchema = closed({
  protocols: list(protocolSchema, 1),
  pathMatches: list(oneOf('exact', 'prefix', 'regex', 'segments')),
  headerMatches: list(oneOf('exact', 'prefix', 'regex', 'present')),
  upstreamIdentity: oneOf('principal', 'serviceName'),
  modes: list(oneOf('explicit', 'transparent'), 1),
  standalone: Type.Boolean(),
  ipFamilies: list(oneOf('IPv4', 'IPv6'), 1),
  operatingSystems: list(oneOf('linux', 'windows', 'darwin'), 1),
  drain: Type.Boolean(),
  features: list(oneOf(...optionalFeatures)),
})

const healthProbe = closed({
  path: Type.String(),
  port: portSchema,
  http: Type.Boolean(),
  timeoutMs: positiveDurationSchema,
  tcpSocket: Type.Boolean(),
})

/** JSON Schema of {@link HealthProbes}. */
export const healthProbesSchema = closed({
  liveness: Type.Optional(healthProbe),
  readiness: Type.Optional(healthProbe),
  startup: Type.Optional(healthProbe),
})

const amount = Type.Number({ minimum: 0 })

/** JSON Schema of {@link ApplyReport}. */
export const applyReportSchema = closed({
  session: nameSchema,
  revision: Type.Integer({ minimum: 0 }),
  complete: Type.Boolean(),
  endpoints: Type.Optional(Type.Integer({ minimum: 0 })),
  parts: list(
    closed({
      hash: partHashSchema,
      id: nameSchema,
      state: oneOf('applied', 'rejected', 'unknown'),
      message: Type.Optional(Type.String({ maxLength: 4096 })),
      element: Type.Optional(Type.String({ pattern: '^(/.*)?$' })),
    }),
  ),
  work: Type.Optional(
    closed({
      queueMs: amount,
      translateMs: amount,
      encodeMs: amount,
      sendMs: amount,
      bytes: Type.Integer({ minimum: 0 }),
    }),
  ),
})

const conditionFields = {
  code: Type.String({ pattern: '^OSM_[A-Z0-9_]+$', maxLength: 128 }),
  message: Type.String({ maxLength: 4096 }),
}

/** JSON Schema of {@link ProxyObservation}. */
export const proxyObservationSchema = Type.Union([
  closed({ session: nameSchema, conditions: list(closed(conditionFields)) }),
  closed({ refused: closed({ ...conditionFields, address: nameSchema, commonName: Type.Optional(nameSchema) }) }),
])
