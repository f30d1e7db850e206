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
    statTimeWindow: Type.Optional(duration('Time window for counting slow and failed requests.')),
    minRequestAmount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxCount,
        description: 'Minimum number of requests in a window for the breaker to open.',
      }),
    ),
    degradedTimeWindow: Type.Optional(duration('Time that the breaker stays open.')),
    slowTimeThreshold: Type.Optional(duration('Response time above which a request is slow.')),
    slowAmountThreshold: count('Slow requests that open the breaker.'),
    slowRatioThreshold: ratio('Share of slow requests that opens the breaker.'),
    errorAmountThreshold: count('Failed requests that open the breaker.'),
    errorRatioThreshold: ratio('Share of failed requests that opens the breaker.'),
    degradedStatusCode: Type.Optional(
      Type.Integer({ minimum: 100, maximum: 599, description: 'Response status while the breaker is open.' }),
    ),
    degradedResponseContent: Type.Optional(Type.String({ description: 'Response body while the breaker is open.' })),
  },
  'A breaker over statistics of slow and failed requests.',
)

/** policy.openservicemesh.io UpstreamTrafficSetting. */
export const UpstreamTrafficSettingSpecSchema = struct(
  {
    host: Type.String({
      minLength: 1,
      description: 'Host name of the service or of the external host.',
    }),
    connectionSettings: Type.Optional(
      struct(
        {
          tcp: Type.Optional(
            struct(
              {
                maxConnections: count('Maximum number of connections of a client.'),
                connectTimeout: Type.Optional(duration('Connect timeout.')),
              },
              'Settings for all connections.',
            ),
          ),
          http: Type.Optional(
            struct(
              {
                maxRequests: count('Maximum number of concurrent requests.'),
                maxRequestsPerConnection: count('Requests after which a connection is closed.'),
                maxPendingRequests: count('Maximum number of requests that wait for a connection.'),
                maxRetries: count('Maximum number of concurrent retries.'),
                circuitBreaking: Type.Optional(CircuitBreakingSchema),
              },
              'Settings for HTTP.',
            ),
          ),
        },
        'Limits of clients for the host.',
      ),
    ),
    rateLimit: Type.Optional(
      struct(
        {
          local: Type.Optional(
            struct(
              { tcp: Type.Optional(TcpLocalRateLimitSchema), http: Type.Optional(HttpLocalRateLimitSchema) },
              'Limits of each instance.',
            ),
          ),
          global: Type.Optional(
            struct(
              { tcp: Type.Optional(TcpGlobalRateLimitSchema), http: Type.Optional(HttpGlobalRateLimitSchema) },
              'Limits that a rate limit service enforces for all instances.',
            ),
          ),
        },
        'Limits of the server side.',
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
                      'Descriptors that replace those of the host.',
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
