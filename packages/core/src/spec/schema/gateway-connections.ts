import { Type } from '@sinclair/typebox'

import { struct } from './common.js'
import { BackendObjectSchema, backendWeight, parentRefs } from './gateway.js'

/** The only rule of a route of connections. */
const rules = Type.Array(
  struct(
    {
      name: Type.Optional(Type.String({ description: 'Name of the rule; has no effect.' })),
      backendRefs: Type.Array(
        struct(
          { ...BackendObjectSchema, weight: backendWeight('connections') },
          'A Service that receives a share of the connections.',
        ),
        { minItems: 1, maxItems: 16, description: 'Where connections go.' },
      ),
    },
    'What happens to connections.',
  ),
  { minItems: 1, maxItems: 1, description: 'The rule of the route.' },
)

/** gateway.networking.k8s.io TCPRoute, as far as the mesh reads it. */
export const GatewayTCPRouteSpecSchema = struct({ parentRefs, rules }, 'Routes connections to a Service of the mesh.')

/** gateway.networking.k8s.io TLSRoute, as far as the mesh reads it. */
export const TLSRouteSpecSchema = struct(
  {
    parentRefs,
    hostnames: Type.Array(
      Type.String({
        maxLength: 253,
        pattern: '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        description: 'A name, or `*.` and a name for all those below it.',
      }),
      { minItems: 1, maxItems: 1024, description: 'Server names of TLS connections of the route.' },
    ),
    rules,
  },
  'Routes TLS connections to a Service of the mesh by server name, without terminating TLS.',
)
