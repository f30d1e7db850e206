import { Type } from '@sinclair/typebox'

import { duration, maxCount, struct, type Spec } from './common.js'
import {
  HttpGlobalRateLimitSchema,
  HttpLocalRateLimitSchema,
  HttpRateLimitDescriptorsSchema,
  TcpGlobalRateLimitSchema,
  TcpLocalRateLimitSchema,
} from './rate-limit.js'

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: maxCount, description }))
const ratio = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))
const CircuitBreakingSchema = struct(
  {
    statTimeWindow: Type.Optional(duration('Window that slow and failed requests are counted in.')),
    minRequestAmount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxCount,
        description: 'Requests in a window below which the breaker stays closed.',
      }),
    ),
    degradedTimeWindow: Type.Optional(duration('How long the breaker stays open.')),
    slowTimeThreshold: Type.Optional(duration('Response time from which a request counts as slow.')),
    slowAmountThreshold: count('Slow requests that open the breaker.'),
    slowRatioThreshold: ratio('Share of slow requests that opens the breaker.'),
    errorAmountThreshold: count('Failed requests that open the breaker.'),
    errorRatioThreshold: ratio('Share of failed requests that opens the breaker.'),
    degradedStatusCode: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 599, description: 'Status of the answer while the breaker is open.' }),
    ),
    degradedResponseContent: Type.Optional(
      Type.String({ description: 'Body of the answer while the breaker is open.' }),
    ),
  },
  'A breaker over statistics of slow and failed requests.',
)

/** policy.openservicemesh.io UpstreamTrafficSetting. */
export const UpstreamTrafficSettingSpecSchema = struct(
  {
    host: Type.String({
      minLength: 1,
      description: 'Host name of the service or of the external host the settings are for.',
    }),
    connectionSettings: Type.Optional(
      struct(
        {
          tcp: Type.Optional(
            struct(
              {
                maxConnections: count('Connections that a client opens at most.'),
                connectTimeout: Type.Optional(duration('Time for a connection to come about.')),
              },
              'Settings for all connections.',
            ),
          ),
          http: Type.Optional(
            struct(
              {
                maxRequests: count('Requests in flight at most.'),
                maxRequestsPerConnection: count('Requests after which a connection is closed.'),
                maxPendingRequests: count('Requests that wait for a connection at most.'),
                maxRetries: count('Retries in flight at most.'),
                circuitBreaking: Type.Optional(CircuitBreakingSchema),
              },
              'Settings for HTTP.',
            ),
          ),
        },
        'Limits that clients keep towards the host.',
      ),
    ),
    rateLimit: Type.Optional(
      struct(
        {
          local: Type.Optional(
            struct(
              { tcp: Type.Optional(TcpLocalRateLimitSchema), http: Type.Optional(HttpLocalRateLimitSchema) },
              'Limits that each instance keeps on its own.',
            ),
          ),
          global: Type.Optional(
            struct(
              { tcp: Type.Optional(TcpGlobalRateLimitSchema), http: Type.Optional(HttpGlobalRateLimitSchema) },
              'Limits that a service counts for all instances.',
            ),
          ),
        },
        'Limits that the server side keeps.',
      ),
    ),
    httpRoutes: Type.Optional(
      Type.Array(
        struct(
          {
            path: Type.String({ minLength: 1, description: 'Path expression, equal to the pathRegex of the route.' }),
            rateLimit: Type.Optional(
              struct(
                {
                  local: Type.Optional(HttpLocalRateLimitSchema),
                  global: Type.Optional(
                    struct(
                      { descriptors: HttpRateLimitDescriptorsSchema },
                      'Descriptors in place of those of the host.',
                    ),
                  ),
                },
                'Limits for this route.',
              ),
            ),
          },
          'Settings for one route.',
        ),
        { description: 'Settings by route.' },
      ),
    ),
  },
  'Settings for traffic directed to one host.',
)
/** Spec of an UpstreamTrafficSetting. */
export type UpstreamTrafficSettingSpec = Spec<typeof UpstreamTrafficSettingSpecSchema>
