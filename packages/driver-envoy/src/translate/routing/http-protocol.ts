import type { Any } from '@bufbuild/protobuf/wkt'
import type { Protocol } from '@osm-ts/driver-api/policy'
import type { Http2ProtocolOptionsSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/protocol_pb.js'
import { HttpProtocolOptionsSchema } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'

import { duration, type Init, pack } from '../encoding/encode.js'
import type { HttpLimits } from '../settings.js'

const EXTENSION = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'

/** Data that a peer may have on the way: 64 KiB for a stream, 1 MiB for a connection. */
const windows: Init<typeof Http2ProtocolOptionsSchema> = {
  initialStreamWindowSize: 64 * 1024,
  initialConnectionWindowSize: 1024 * 1024,
}

/** The most that HTTP/2 can say: no limit. Left out, it would be what a version of Envoy has for a default. */
const UNLIMITED_STREAMS = 2_147_483_647

/** Options of HTTP/2 towards upstreams: a sidecar opens another connection beyond 100 requests on one. */
const upstreamHttp2Options: Init<typeof Http2ProtocolOptionsSchema> = {
  ...windows,
  allowConnect: true,
  maxConcurrentStreams: 100,
}

/**
 * Options of HTTP/2 towards clients.
 *
 * @param concurrentStreams - requests that a client may have under way on one connection. Undefined for the workload beside the proxy, whose memory pays for
 *   each of them first: a client may wait forever for a connection that has reached its limit.
 */
export function downstreamHttp2Options(concurrentStreams: number | undefined): Init<typeof Http2ProtocolOptionsSchema> {
  return { ...windows, allowConnect: true, maxConcurrentStreams: concurrentStreams ?? UNLIMITED_STREAMS }
}

/** True for protocols whose requests the proxy reads. */
export function isHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc'
}

/**
 * How long a connection to a server outside the mesh is kept without requests, in milliseconds. Servers close theirs after 5 seconds (Node, Apache) or more, and a
 * request that is sent at that moment is lost. Networks between forget connections after some minutes without a word.
 */
export const OUTSIDE_IDLE_MS = 4_000

/** How long connections to an upstream are used. */
interface ConnectionReuse {
  readonly maxRequestsPerConnection?: number | undefined
  /** Connections without requests are closed after this time; undefined for Envoy's default, an hour. */
  readonly idleTimeoutMs?: number
}

/**
 * What HTTP is spoken to a cluster. Ports declared as HTTP/2 or gRPC get HTTP/2 by prior knowledge; on plain `http` ports the client's version is kept,
 * so that an upgrade or a client that knows better works. ALPN decides nothing: the server of the mesh selects no protocol.
 */
export function httpProtocolOptions(
  protocol: Protocol,
  limits: HttpLimits,
  { maxRequestsPerConnection, idleTimeoutMs }: ConnectionReuse = {},
): { readonly [extension: string]: Any } {
  if (!isHttp(protocol)) return {}
  const common: Init<typeof HttpProtocolOptionsSchema> = {
    commonHttpProtocolOptions: {
      // Answers may be as large as requests.
      maxHeadersCount: limits.headers,
      maxResponseHeadersKb: limits.requestHeadersKiB,
      ...(maxRequestsPerConnection !== undefined && { maxRequestsPerConnection }),
      ...(idleTimeoutMs !== undefined && { idleTimeout: duration(idleTimeoutMs) }),
    },
  }
  const options: Init<typeof HttpProtocolOptionsSchema> =
    protocol === 'http'
      ? {
          upstreamProtocolOptions: {
            case: 'useDownstreamProtocolConfig',
            value: {
              // Servers are seen to send both. Chunks decide, and the length goes (RFC 9112, section 6.3). Requests with both are refused.
              httpProtocolOptions: { enableTrailers: true, allowChunkedLength: true },
              http2ProtocolOptions: upstreamHttp2Options,
            },
          },
        }
      : {
          upstreamProtocolOptions: {
            case: 'explicitHttpConfig',
            value: { protocolConfig: { case: 'http2ProtocolOptions', value: upstreamHttp2Options } },
          },
        }
  return { [EXTENSION]: pack(HttpProtocolOptionsSchema, { ...common, ...options }) }
}
