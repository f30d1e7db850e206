import type { Any } from '@bufbuild/protobuf/wkt'
import type { Protocol } from '@osm-ts/driver-api'
import type { Http2ProtocolOptionsSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/protocol_pb.js'
import { HttpProtocolOptionsSchema } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'

import { type Init, pack } from './encode.js'

const EXTENSION = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

/** Limits that keep one peer from holding more memory than its share: 100 streams of 64 KiB, 1 MiB for a connection. */
export const http2Limits: Init<typeof Http2ProtocolOptionsSchema> = {
  maxConcurrentStreams: 100,
  initialStreamWindowSize: 64 * 1024,
  initialConnectionWindowSize: 1024 * 1024,
}

/** True for protocols whose requests the proxy reads. */
export function isHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}

/**
 * What HTTP is spoken to a cluster. Ports declared as HTTP/2 or gRPC get HTTP/2 by prior knowledge; on plain `http` ports the client's version is kept,
 * so that an upgrade or a client that knows better works. ALPN decides nothing: the server of the mesh selects no protocol.
 */
export function httpProtocolOptions(
  protocol: Protocol,
  maxRequestsPerConnection?: number,
): { readonly [extension: string]: Any } {
  if (!isHttp(protocol)) return {}
  const common: Init<typeof HttpProtocolOptionsSchema> =
    maxRequestsPerConnection === undefined ? {} : { commonHttpProtocolOptions: { maxRequestsPerConnection } }
  const options: Init<typeof HttpProtocolOptionsSchema> =
    protocol === 'http'
      ? {
          upstreamProtocolOptions: {
            case: 'useDownstreamProtocolConfig',
            value: { httpProtocolOptions: {}, http2ProtocolOptions: http2Limits },
          },
        }
      : {
          upstreamProtocolOptions: {
            case: 'explicitHttpConfig',
            value: { protocolConfig: { case: 'http2ProtocolOptions', value: http2Limits } },
          },
        }
  return { [EXTENSION]: pack(HttpProtocolOptionsSchema, { ...common, ...options }) }
}
