import type { Any } from '@bufbuild/protobuf/wkt'
import type { HttpLocalRateLimit, TcpLocalRateLimit, TokenBucket } from '@osm-ts/driver-api/policy'
import {
  HeaderValueOption_HeaderAppendAction as AppendAction,
  type RuntimeFractionalPercentSchema,
} from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import { LocalRateLimitSchema as HttpLocalRateLimitSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit_pb.js'
import { LocalRateLimitSchema as TcpLocalRateLimitSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/local_ratelimit/v3/local_rate_limit_pb.js'
import { FractionalPercent_DenominatorType as Denominator } from '@osm-ts/envoy-api/envoy/type/v3/percent_pb.js'
import { StatusCode } from '@osm-ts/envoy-api/envoy/type/v3/http_status_pb.js'
import type { TokenBucketSchema } from '@osm-ts/envoy-api/envoy/type/v3/token_bucket_pb.js'

import { duration, type Init, pack } from '../encoding/encode.js'

/** Statistics of HTTP limits, as OSM names them. */
const HTTP_STAT_PREFIX = 'http_local_rate_limiter'

/** The limiter of an HTTP port, without a limit: those come with virtual hosts and routes, so that a new limit drains no connection. */
export function unlimitedHttpRequests(): Any {
  return pack(HttpLocalRateLimitSchema, { statPrefix: HTTP_STAT_PREFIX })
}

/** A limit of a virtual host or route. */
export function limitedHttpRequests(limit: HttpLocalRateLimit): Any {
  return pack(HttpLocalRateLimitSchema, {
    statPrefix: HTTP_STAT_PREFIX,
    tokenBucket: tokenBucket(limit.bucket),
    status: { code: namedStatus(limit.statusCode) },
    responseHeadersToAdd: limit.responseHeaders.map(({ name, value }) => ({
      // Envoy reads values as format strings and refuses a route configuration with an invalid one.
      header: { key: name, value: value.replaceAll('%', '%%') },
      appendAction: AppendAction.APPEND_IF_EXISTS_OR_ADD,
    })),
    filterEnabled: always(),
    filterEnforced: always(),
  })
}

/** A limit on new connections. */
export function limitedConnections(limit: TcpLocalRateLimit, statPrefix: string): Any {
  return pack(TcpLocalRateLimitSchema, { statPrefix, tokenBucket: tokenBucket(limit.bucket) })
}

/** Envoy refuses a whole route configuration for a status that it has no name for, such as 418: those become 429. */
export function namedStatus(status: number): StatusCode {
  return isNamed(status) ? status : StatusCode.TooManyRequests
}

function isNamed(status: number): status is StatusCode {
  return Object.hasOwn(StatusCode, status)
}

function tokenBucket({ tokens, intervalMs, burst }: TokenBucket): Init<typeof TokenBucketSchema> {
  return { maxTokens: tokens + burst, tokensPerFill: tokens, fillInterval: duration(intervalMs) }
}

function always(): Init<typeof RuntimeFractionalPercentSchema> {
  return { defaultValue: { numerator: 100, denominator: Denominator.HUNDRED } }
}
