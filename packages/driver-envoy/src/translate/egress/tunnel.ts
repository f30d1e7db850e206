import type { Any } from '@bufbuild/protobuf/wkt'
import type { UpstreamPart } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import type { AddressSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/address_pb.js'
import {
  type DataSourceSchema,
  TrafficDirection,
  type TransportSocketSchema,
} from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import {
  type FilterStateValueSchema,
  FilterStateValue_SharedWithUpstream as SharedWithUpstream,
} from '@osm-ts/envoy-api/envoy/extensions/filters/common/set_filter_state/v3/value_pb.js'
import { ConfigSchema as HttpStateSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/set_filter_state/v3/set_filter_state_pb.js'
import { ConfigSchema as ConnectionStateSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/set_filter_state/v3/set_filter_state_pb.js'
import { InternalUpstreamTransportSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream_pb.js'
import { RawBufferSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb.js'

import { circuitBreakers } from '../upstreams/circuit-breakers.js'
import { staticCluster, transportSocketTo } from '../upstreams/cluster.js'
import { duration, encode, type Init, oneOf, pack } from '../encoding/encode.js'
import { HTTP_SET_FILTER_STATE } from '../routing/filter-order.js'
import { httpProtocolOptions, OUTSIDE_IDLE_MS } from '../routing/http-protocol.js'
import { names } from '../encoding/names.js'
import type { MeshSettings } from '../settings.js'
import type { Settings } from '../settings.js'
import { tunnelFilters } from '../listeners/tcp-proxy.js'
import type { Destination, Tunnel } from './egress-gateway-routes.js'

type SocketInit = Init<typeof TransportSocketSchema>

/** Name under which a connection, or a request, tells the tunnel where it is to go. */
const DESTINATION = 'osm.egress.destination'

/** The dialled address, in every place that has one. */
const DIALLED = '%DOWNSTREAM_LOCAL_ADDRESS%'

/**
 * The listener, inside the proxy, behind which gateways are: each connection to it becomes a stream to one of them. Tunnels without gateways close every
 * connection.
 */
export function tunnelListener({ name, targets }: Tunnel, mesh: MeshSettings): Uint8Array {
  return encode(ListenerSchema, {
    name,
    listenerSpecifier: { case: 'internalListener', value: {} },
    trafficDirection: TrafficDirection.OUTBOUND,
    filterChains: [{ name, filters: tunnelFilters(name, targets, mesh, `%FILTER_STATE(${DESTINATION}:PLAIN)%`) }],
  })
}

/** The cluster of an upstream outside the mesh whose connections enter a tunnel. TLS with the destination, if any, is spoken inside the tunnel. */
export function tunnelledCluster(part: UpstreamPart, tunnel: Tunnel, settings: Settings): Uint8Array {
  const name = names.tunnelledCluster(part.id, tunnel.name)
  const inner = transportSocketTo(part, settings)
  const mustEncrypt = part.tls.mode !== 'none' && inner === undefined
  return encode(ClusterSchema, {
    ...(mustEncrypt ? staticCluster(name, []) : entrance(name, tunnel)),
    connectTimeout: duration(part.connectTimeoutMs ?? settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(part.limits),
    typedExtensionProtocolOptions: httpProtocolOptions(part.protocol, settings.mesh.httpLimits, {
      maxRequestsPerConnection: part.limits?.maxRequestsPerConnection,
      idleTimeoutMs: OUTSIDE_IDLE_MS,
    }),
    transportSocket: throughListener(inner),
  })
}

/** The cluster of destinations that the mesh does not know, while global egress is on and such traffic takes a tunnel. */
export function tunnelledPassthrough(cluster: string, tunnel: Tunnel, settings: Settings): Uint8Array {
  return encode(ClusterSchema, {
    ...entrance(names.tunnelledCluster(cluster, tunnel.name), tunnel),
    connectTimeout: duration(settings.mesh.connectTimeoutMs),
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: httpProtocolOptions('http', settings.mesh.httpLimits, {
      idleTimeoutMs: OUTSIDE_IDLE_MS,
    }),
    transportSocket: throughListener(undefined),
  })
}

function entrance(name: string, tunnel: Tunnel): Init<typeof ClusterSchema> {
  const address: Init<typeof AddressSchema> = {
    address: {
      case: 'envoyInternalAddress',
      value: { addressNameSpecifier: { case: 'serverListenerName', value: tunnel.name } },
    },
  }
  return {
    ...staticCluster(name, []),
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: 'endpoint', value: { address } } }] }],
    },
  }
}

/** Hands what is known of a connection on to the internal listener. */
function throughListener(inner: Init<typeof ClusterSchema>['transportSocket']): SocketInit {
  const plain: SocketInit = {
    name: 'envoy.transport_sockets.raw_buffer',
    configType: { case: 'typedConfig', value: pack(RawBufferSchema, {}) },
  }
  return {
    name: 'envoy.transport_sockets.internal_upstream',
    configType: {
      case: 'typedConfig',
      value: pack(InternalUpstreamTransportSchema, { transportSocket: inner ?? plain }),
    },
  }
}

/** The filter that tells tunnels where requests are to go; routes say it. */
export function requestDestinationFilter(): Any {
  return pack(HttpStateSchema, {})
}

/** What a route says to {@link requestDestinationFilter}. */
export function requestDestination(destination: RequestDestination): { readonly [filter: string]: Any } {
  return { [HTTP_SET_FILTER_STATE]: pack(HttpStateSchema, { onRequestHeaders: [state(requestFormat(destination))] }) }
}

/** Requests that name their host do so with a port or, for port 80, without one. */
type RequestDestination =
  Exclude<Destination, { readonly kind: 'named' }> | { readonly kind: 'named'; readonly withPort: boolean }

function requestFormat(destination: RequestDestination): string {
  if (destination.kind !== 'named') return connectionFormat(destination)
  return destination.withPort ? '%REQ(:AUTHORITY)%' : '%REQ(:AUTHORITY)%:80'
}

/** The filter that tells tunnels where a connection is to go. */
export function connectionDestinationFilter(destination: Destination): Any {
  return pack(ConnectionStateSchema, { onNewConnection: [state(connectionFormat(destination))] })
}

function connectionFormat(destination: Destination): string {
  switch (destination.kind) {
    case 'fixed':
      return destination.authority.replaceAll('%', '%%')
    case 'dialled':
      return DIALLED
    case 'named':
      return `%REQUESTED_SERVER_NAME%:${destination.port}`
  }
}

/** Connections to upstreams are shared by those requests only whose destination is the same, which is what the hash is for. */
function state(format: string): Init<typeof FilterStateValueSchema> {
  const source: Init<typeof DataSourceSchema> = { specifier: { case: 'inlineString', value: format } }
  return {
    key: { case: 'objectKey', value: DESTINATION },
    factoryKey: 'envoy.hashable_string',
    value: { case: 'formatString', value: { format: oneOf('textFormatSource', source) } },
    sharedWithUpstream: SharedWithUpstream.ONCE,
  }
}
