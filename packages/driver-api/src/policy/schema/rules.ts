import { Type } from '@sinclair/typebox'

import { closed, list, oneOf } from '../../schema/builders.js'
import {
  countSchema,
  errorStatusSchema,
  fractionSchema,
  hostAddressSchema,
  httpHeadersSchema,
  nameSchema,
  portSchema,
  positiveCountSchema,
  positiveDurationSchema,
  statusSchema,
} from '../../schema/common.js'

const exactMatch = closed({ type: Type.Literal('exact'), value: Type.String() })
const prefixMatch = closed({ type: Type.Literal('prefix'), value: Type.String() })
const regexMatch = closed({ type: Type.Literal('regex'), value: Type.String() })

/** Schema of {@link StringMatch}. */
const stringMatchSchema = Type.Union([exactMatch, prefixMatch, regexMatch, closed({ type: Type.Literal('present') })])

/** Schema of {@link PathMatch}. */
const pathMatchSchema = Type.Union([exactMatch, prefixMatch, regexMatch])

/** Schema of {@link RoutedPathMatch}. */
const routedPathMatchSchema = Type.Union([
  exactMatch,
  prefixMatch,
  regexMatch,
  closed({ type: Type.Literal('segments'), value: Type.String({ pattern: '^/.*[^/]$|^/[^/]$' }) }),
])

/** Schema of {@link QueryMatch}. */
const queryMatchSchema = closed({ name: nameSchema, match: Type.Union([exactMatch, regexMatch]) })

const matchedHeaderName = Type.String({ pattern: "^:?[!#$%&'*+.^_`|~0-9a-z-]+$" })

/** Schema of {@link HeaderMatch}. */
const headerMatchSchema = closed({
  name: matchedHeaderName,
  match: stringMatchSchema,
  invert: Type.Optional(Type.Boolean()),
})

const conditions = {
  methods: Type.Optional(list(Type.String({ pattern: '^[A-Z][A-Z0-9_-]*$' }), 1)),
  headers: Type.Optional(list(headerMatchSchema, 1)),
}

/** Schema of {@link RouteMatch}. */
export const routeMatchSchema = closed({ path: Type.Optional(pathMatchSchema), ...conditions })

/** Schema of {@link OutboundMatch}. */
export const outboundMatchSchema = closed({
  path: Type.Optional(routedPathMatchSchema),
  ...conditions,
  queryParameters: Type.Optional(list(queryMatchSchema, 1)),
})

/** Schema of {@link TokenBucket}. */
const tokenBucketSchema = closed({
  tokens: positiveCountSchema,
  intervalMs: positiveDurationSchema,
  burst: countSchema,
})

const tcpLocalRateLimit = closed({ bucket: tokenBucketSchema })

const httpLocalRateLimit = closed({
  bucket: tokenBucketSchema,
  statusCode: errorStatusSchema,
  responseHeaders: httpHeadersSchema,
})

const tcpDescriptors = list(closed({ entries: list(closed({ key: nameSchema, value: Type.String() })) }))

const httpDescriptors = list(
  closed({
    entries: list(
      Type.Union([
        closed({ kind: Type.Literal('constant'), key: nameSchema, value: Type.String() }),
        closed({ kind: Type.Literal('remoteAddress') }),
        closed({ kind: Type.Literal('requestHeader'), key: nameSchema, header: matchedHeaderName }),
        closed({
          kind: Type.Literal('headerMatch'),
          key: nameSchema,
          value: Type.String(),
          expectMatch: Type.Boolean(),
          headers: list(headerMatchSchema, 1),
        }),
      ]),
    ),
  }),
)

const globalRateLimit = {
  service: hostAddressSchema,
  domain: nameSchema,
  timeoutMs: positiveDurationSchema,
  failOpen: Type.Boolean(),
}

/** Schema of {@link RateLimits}. */
export const rateLimitsSchema = closed({
  tcp: Type.Optional(tcpLocalRateLimit),
  http: Type.Optional(httpLocalRateLimit),
  globalTcp: Type.Optional(closed({ ...globalRateLimit, descriptors: tcpDescriptors })),
  globalHttp: Type.Optional(
    closed({
      ...globalRateLimit,
      statusCode: errorStatusSchema,
      limitHeaders: Type.Boolean(),
      descriptors: httpDescriptors,
    }),
  ),
})

/** Schema of {@link RouteLimits}. */
export const routeLimitsSchema = closed({
  match: routeMatchSchema,
  rateLimits: closed({
    http: Type.Optional(httpLocalRateLimit),
    globalHttpDescriptors: Type.Optional(httpDescriptors),
  }),
})

/** Schema of {@link ExternalAuthorization}. */
export const externalAuthorizationSchema = closed({
  host: nameSchema,
  port: portSchema,
  statPrefix: nameSchema,
  timeoutMs: positiveDurationSchema,
  failureModeAllow: Type.Boolean(),
})

/** Schema of {@link RetryPolicy}. */
export const retryPolicySchema = closed({
  retryOn: list(nameSchema),
  numRetries: countSchema,
  perTryTimeoutMs: Type.Optional(positiveDurationSchema),
  backoffBaseIntervalMs: Type.Optional(positiveDurationSchema),
})

/** Schema of {@link ConnectionLimits}. */
export const connectionLimitsSchema = closed({
  maxConnections: Type.Optional(countSchema),
  maxPendingRequests: Type.Optional(countSchema),
  maxRequests: Type.Optional(countSchema),
  maxRequestsPerConnection: Type.Optional(countSchema),
  maxRetries: Type.Optional(countSchema),
})

/** Schema of {@link StatisticalCircuitBreaker}. */
export const statisticalCircuitBreakerSchema = closed({
  statWindowMs: positiveDurationSchema,
  minRequests: positiveCountSchema,
  degradedWindowMs: positiveDurationSchema,
  slowThresholdMs: Type.Optional(positiveDurationSchema),
  slowAmount: Type.Optional(countSchema),
  slowRatio: Type.Optional(fractionSchema),
  errorAmount: Type.Optional(countSchema),
  errorRatio: Type.Optional(fractionSchema),
  degradedStatusCode: statusSchema,
  degradedBody: Type.String(),
})

/** Schema of {@link ActiveHealthCheck}. */
export const activeHealthCheckSchema = closed({
  type: oneOf('http', 'tcp'),
  intervalMs: positiveDurationSchema,
  timeoutMs: positiveDurationSchema,
  path: Type.Optional(Type.String({ pattern: '^/' })),
  unhealthyThreshold: positiveCountSchema,
  healthyThreshold: positiveCountSchema,
})

/** Schema of {@link LoadBalancing}. */
export const loadBalancingSchema = Type.Union([
  closed({ policy: Type.Literal('round-robin') }),
  closed({ policy: Type.Literal('least-request') }),
  closed({ policy: Type.Literal('hash'), on: Type.Literal('source-ip') }),
])
