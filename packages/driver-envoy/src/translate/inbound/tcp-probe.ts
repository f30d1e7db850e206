import type { Any } from '@bufbuild/protobuf/wkt'
import type { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import { CustomResponseSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/custom_response/v3/custom_response_pb.js'
import { LocalResponsePolicySchema } from '@osm-ts/envoy-api/envoy/extensions/http/custom_response/local_response_policy/v3/local_response_policy_pb.js'
import { TcpConnectionPoolProtoSchema } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/tcp/v3/tcp_connection_pool_pb.js'
import { HttpResponseStatusCodeMatchInputSchema } from '@osm-ts/envoy-api/envoy/type/matcher/v3/status_code_input_pb.js'

import { type Init, pack } from '../encoding/encode.js'
import { HTTP_CUSTOM_RESPONSE } from '../routing/filter-order.js'

/*
 * A TCP probe by HTTP. A sidecar accepts connections whether or not the workload does, so that a kubelet that only opened one would
 * learn nothing. It therefore asks by HTTP, and Envoy opens a connection to the workload when it is asked and not before: the
 * cluster's connection pool is one of plain TCP, which answers 200 as soon as it is connected, without a byte to the workload, and
 * 503 if it can't connect. What the workload says after that would follow as the body; the answer ends with its headers instead.
 */

/** Connections of the cluster carry bytes, and the first thing that is heard of one is whether it was made. */
export function connectionOnly(): Init<typeof TypedExtensionConfigSchema> {
  return { name: 'envoy.filters.connection_pools.tcp.generic', typedConfig: pack(TcpConnectionPoolProtoSchema, {}) }
}

/** The filter that routes of TCP probes configure; it does nothing by itself. */
export function endsWithHeaders(): Any {
  return pack(CustomResponseSchema, {})
}

/** For the route of a TCP probe: an answer in place of what the workload sends. */
export function answerWhenConnected(): { readonly [filter: string]: Any } {
  const connected = pack(CustomResponseSchema, {
    customResponseMatcher: {
      matcherType: {
        case: 'matcherList',
        value: {
          matchers: [
            {
              predicate: {
                matchType: {
                  case: 'singlePredicate',
                  value: {
                    input: { name: 'status', typedConfig: pack(HttpResponseStatusCodeMatchInputSchema, {}) },
                    matcher: { case: 'valueMatch', value: { matchPattern: { case: 'exact', value: '200' } } },
                  },
                },
              },
              onMatch: {
                onMatch: {
                  case: 'action',
                  value: {
                    name: 'connected',
                    typedConfig: pack(LocalResponsePolicySchema, {
                      statusCode: 200,
                      body: { specifier: { case: 'inlineString', value: 'connected' } },
                    }),
                  },
                },
              },
            },
          ],
        },
      },
    },
  })
  return { [HTTP_CUSTOM_RESPONSE]: connected }
}
