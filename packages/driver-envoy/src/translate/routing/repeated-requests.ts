import type { Protocol } from '@osm-ts/driver-api/policy'
import type {
  RetryPolicySchema,
  RouteActionSchema,
  RouteMatchSchema,
  RouteSchema,
} from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import type { Init } from '../encoding/encode.js'
import { methodMatcher } from './matching.js'

/** Methods of requests that change nothing and have no content. */
const UNCHANGING = ['GET', 'HEAD', 'OPTIONS'] as const

/** A route to a server, as it is without a retry policy. */
type ServerRoute = Omit<Init<typeof RouteSchema>, 'match' | 'action'> & {
  readonly match: Init<typeof RouteMatchSchema>
  readonly action: Init<typeof RouteActionSchema>
}

/**
 * Repeats requests that a server has not answered, where its own clients would have done so.
 *
 * A server may end a connection at the moment at which the next request is sent on it. Clients repeat requests that change nothing (RFC 9110, section 9.2.2)
 * when a connection that they have used before ends without an answer. They cannot do so here, because their connection does not end.
 */
export const repeatedRequests: Init<typeof RetryPolicySchema> = {
  retryOn: 'reset,refused-stream',
  numRetries: 1,
  retriableRequestHeaders: [methodMatcher(UNCHANGING)],
}

/**
 * Repeats requests of any method that a server refused before it processed them (RFC 9113, section 8.7). A server of HTTP/2 refuses streams when it ends a connection
 * or has too many streams. Clients of gRPC repeat such requests, but learn only of an error of the sidecar here.
 */
const repeatedIfRefused: Init<typeof RetryPolicySchema> = { retryOn: 'refused-stream', numRetries: 2 }

/**
 * The routes of requests to a server: a route has one policy of what it repeats. Which requests may come by HTTP/2 is known of ports that are declared so, and of gRPC.
 * Others are not kept in memory for a repetition that their server cannot ask for. Envoy keeps as much of a request as its HTTP/2 client may send ahead, which is
 * 64 KiB, and does not repeat a larger one.
 *
 * @param route - without a retry policy
 */
export function routesThatRepeat(route: ServerRoute, protocol: Protocol): Init<typeof RouteSchema>[] {
  const { match, action } = route
  const routeWith = (more: Partial<typeof match>, retryPolicy: Init<typeof RetryPolicySchema>) => ({
    ...route,
    match: { ...match, ...more },
    action: { case: 'route' as const, value: { ...action, retryPolicy } },
  })
  return protocol === 'http'
    ? [routeWith({ grpc: {} }, repeatedIfRefused), routeWith({}, repeatedRequests)]
    : [
        routeWith({ headers: [...(match.headers ?? []), methodMatcher(UNCHANGING)] }, repeatedRequests),
        routeWith({}, repeatedIfRefused),
      ]
}
