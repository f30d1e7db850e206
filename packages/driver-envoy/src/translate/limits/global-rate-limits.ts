import type { Any } from '@bufbuild/protobuf/wkt'
import type {
  HostAddress,
  HttpGlobalRateLimit,
  HttpRateLimitDescriptor,
  HttpRateLimitDescriptorEntry,
  RateLimits,
  TcpGlobalRateLimit,
} from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { ApiVersion } from '@osm-ts/envoy-api/envoy/config/core/v3/config_source_pb.js'
import type { RateLimitServiceConfigSchema } from '@osm-ts/envoy-api/envoy/config/ratelimit/v3/rls_pb.js'
import type {
  RateLimit_ActionSchema as ActionSchema,
  RateLimitSchema as RouteRateLimitSchema,
} from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import {
  RateLimit_XRateLimitHeadersRFCVersion as LimitHeaders,
  RateLimitSchema as HttpRateLimitSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/http/ratelimit/v3/rate_limit_pb.js'
import { RateLimitSchema as TcpRateLimitSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/ratelimit/v3/rate_limit_pb.js'

import { authority } from '../encoding/address.js'
import { circuitBreakers } from '../upstreams/circuit-breakers.js'
import { hostCluster } from '../upstreams/cluster.js'
import { duration, encode, type Init, pack } from '../encoding/encode.js'
import { httpProtocolOptions } from '../routing/http-protocol.js'
import { headerMatchers } from '../routing/matching.js'
import { names } from '../encoding/names.js'
import { namedStatus } from './rate-limits.js'
import { DEFAULT_HTTP_LIMITS, type Settings } from '../settings.js'

/** Asks a service about every new connection. */
export function countedConnections(limit: TcpGlobalRateLimit, statPrefix: string): Any {
  return pack(TcpRateLimitSchema, {
    statPrefix,
    domain: limit.domain,
    descriptors: limit.descriptors.map(({ entries }) => ({
      // Envoy reads values as format strings.
      entries: entries.map(({ key, value }) => ({ key, value: value.replaceAll('%', '%%') })),
    })),
    timeout: duration(limit.timeoutMs),
    failureModeDeny: !limit.failOpen,
    rateLimitService: service(limit.service),
  })
}

/** Asks a service about every request for which a virtual host or route has descriptors. */
export function countedRequests(limit: HttpGlobalRateLimit): Any {
  return pack(HttpRateLimitSchema, {
    domain: limit.domain,
    timeout: duration(limit.timeoutMs),
    failureModeDeny: !limit.failOpen,
    rateLimitService: service(limit.service),
    rateLimitedStatus: { code: namedStatus(limit.statusCode) },
    enableXRatelimitHeaders: limit.limitHeaders ? LimitHeaders.DRAFT_VERSION_03 : LimitHeaders.OFF,
  })
}

/** Descriptors of a virtual host or route. Those of a route replace those of its virtual host. */
export function requestDescriptors(
  descriptors: readonly HttpRateLimitDescriptor[] = [],
): Init<typeof RouteRateLimitSchema>[] {
  return descriptors.map(({ entries }) => ({ actions: entries.map((entry) => ({ actionSpecifier: action(entry) })) }))
}

/** The services that limits of a port ask. */
export function rateLimitServices({ globalTcp, globalHttp }: RateLimits = {}): readonly HostAddress[] {
  return [globalTcp, globalHttp].flatMap((limit) => (limit === undefined ? [] : [limit.service]))
}

/** The cluster of such a service. */
export function rateLimitCluster(address: HostAddress, { mesh }: Settings): Uint8Array {
  return encode(ClusterSchema, {
    ...hostCluster(names.rateLimitCluster(address), address.host, address.port),
    connectTimeout: duration(mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: httpProtocolOptions('grpc', DEFAULT_HTTP_LIMITS),
  })
}

function service(address: HostAddress): Init<typeof RateLimitServiceConfigSchema> {
  return {
    grpcService: {
      targetSpecifier: {
        case: 'envoyGrpc',
        // Envoy would give the name of the cluster, which is not a valid authority: servers reset the stream for it.
        value: { clusterName: names.rateLimitCluster(address), authority: authority(address) },
      },
    },
    transportApiVersion: ApiVersion.V3,
  }
}

function action(entry: HttpRateLimitDescriptorEntry): NonNullable<Init<typeof ActionSchema>['actionSpecifier']> {
  switch (entry.kind) {
    case 'constant':
      return { case: 'genericKey', value: { descriptorKey: entry.key, descriptorValue: entry.value } }
    case 'remoteAddress':
      return { case: 'remoteAddress', value: {} }
    case 'requestHeader':
      return { case: 'requestHeaders', value: { headerName: entry.header, descriptorKey: entry.key } }
    case 'headerMatch':
      return {
        case: 'headerValueMatch',
        value: {
          descriptorKey: entry.key,
          descriptorValue: entry.value,
          expectMatch: entry.expectMatch,
          headers: [...headerMatchers(entry.headers)],
        },
      }
  }
}
