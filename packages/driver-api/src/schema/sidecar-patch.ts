import { Type } from '@sinclair/typebox'

import { closed, dictionary, list, oneOf } from './builders.js'
import { nameSchema, portSchema, positiveDurationSchema, statusSchema } from './common.js'

const reference = Type.Union([
  closed({ ref: Type.Literal('file'), path: nameSchema }),
  closed({
    ref: Type.Literal('workload'),
    field: oneOf('address', 'instance', 'namespace', 'serviceAccount', 'uid', 'node'),
  }),
])

const value = Type.Union([Type.String(), list(Type.Union([Type.String(), reference]))])

const quantities = dictionary(Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$' }))

/** JSON Schema of {@link Resources}. */
export const resourcesSchema = closed({ limits: Type.Optional(quantities), requests: Type.Optional(quantities) })

const action = Type.Union([
  closed({ kind: Type.Literal('signal'), signal: oneOf('SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2') }),
  closed({
    kind: Type.Literal('http'),
    method: oneOf('GET', 'POST'),
    port: portSchema,
    path: Type.String({ pattern: '^/' }),
  }),
  closed({ kind: Type.Literal('command'), command: list(value, 1) }),
])

const environment = list(closed({ name: nameSchema, value }))

const sidecarContainer = closed({
  image: nameSchema,
  binary: nameSchema,
  initWrapper: Type.Optional(list(value, 1)),
  args: list(value),
  env: environment,
  ports: list(
    closed({
      name: Type.String({ minLength: 1, maxLength: 15 }),
      port: portSchema,
      protocol: oneOf('TCP', 'UDP'),
    }),
  ),
  resources: Type.Optional(resourcesSchema),
  security: closed({ runAsUser: Type.Integer({ minimum: 1 }), readOnlyRootFilesystem: Type.Boolean() }),
})

const file = closed({
  path: Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,127}$' }),
  content: Type.Union([
    closed({ text: value }),
    closed({ from: oneOf('bootstrap.key', 'bootstrap.chain', 'trustBundle', 'trustBundle.last') }),
  ]),
})

const interceptionNeeds = closed({
  inboundPort: portSchema,
  outboundPort: portSchema,
  proxyUid: Type.Integer({ minimum: 1 }),
  excludedInboundPorts: list(portSchema),
  dnsPort: Type.Optional(portSchema),
  ipv6: Type.Boolean(),
})

/** JSON Schema of {@link SidecarPatch}. What a driver may request is the host's allow-list, not the schema. */
export const sidecarPatchSchema = closed({
  sidecar: sidecarContainer,
  files: list(file),
  ready: closed({
    http: closed({ port: portSchema, path: Type.String({ pattern: '^/' }), status: statusSchema }),
    periodMs: positiveDurationSchema,
  }),
  drain: Type.Optional(closed({ action, minMs: Type.Integer({ minimum: 0 }), maxMs: Type.Integer({ minimum: 0 }) })),
  quit: action,
  metrics: Type.Optional(closed({ port: portSchema, path: Type.String({ pattern: '^/' }) })),
  admin: Type.Optional(closed({ port: portSchema })),
  interception: Type.Optional(interceptionNeeds),
  annotations: dictionary(Type.String()),
  initContainers: list(closed({ name: nameSchema, image: nameSchema, command: list(value), env: environment })),
  volumes: list(
    closed({ name: nameSchema, mountPath: Type.String({ pattern: '^/' }), sizeLimit: Type.Optional(nameSchema) }),
  ),
})
