import type { RetryPolicySchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'

import type { Init } from '../encoding/encode.js'
import { methodMatcher } from './matching.js'

/**
 * Repeats requests that a server has not answered, where its own clients would have done so.
 *
 * A server may end a connection at the moment at which the next request is sent on it. Clients repeat requests that change nothing (RFC 9110, section 9.2.2)
 * when a connection that they have used before ends without an answer. They cannot do so here, because their connection does not end.
 */
export const repeatedRequests: Init<typeof RetryPolicySchema> = {
  retryOn: 'reset,refused-stream',
  numRetries: 1,
  retriableRequestHeaders: [methodMatcher(['GET', 'HEAD', 'OPTIONS'])],
}
