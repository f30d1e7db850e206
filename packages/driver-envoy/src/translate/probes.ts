import { compareBy, compareText, type ProbeBinding, type ProxyPart, type SocketAddress } from '@osm-ts/driver-api'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  FilterChainSchema,
  type FilterSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import type { RouteActionSchema, RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { TcpProxySchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js'

import { staticCluster } from './cluster.js'
import { duration, encode, type Init, pack } from './encode.js'
import { httpFilters, networkFilters } from './filter-order.js'
import { httpProtocolOptions } from './http-protocol.js'
import { names } from './names.js'
import { answerWhenConnected, connectionOnly, endsWithHeaders } from './tcp-probe.js'
import { unverifiedClientTls } from './tls.js'

/** A listener that answers probes without TLS. */
export interface ProbeListener {
  readonly name: string
  readonly listen: SocketAddress
  readonly chain: Uint8Array
}

/** A cluster behind such a listener. */
export interface ProbeCluster {
  readonly name: string
  readonly value: Uint8Array
}

interface NamedProbe {
  readonly probe: ProbeBinding
  readonly cluster: string
}

/** Listeners of a proxy's probes, one for each address. */
export function probeListeners(probes: readonly ProbeBinding[]): readonly ProbeListener[] {
  const byAddress = new Map<string, NamedProbe[]>()
  for (const named of namedProbes(probes)) {
    const { address, port } = named.probe.listen
    const key = `${address} ${port}`
    byAddress.set(key, [...(byAddress.get(key) ?? []), named])
  }
  const taken = new Set<string>()
  return [...byAddress.values()].flatMap((group) => {
    const first = group[0]?.probe
    if (first === undefined) return []
    const plain = names.probeListener(first.probe)
    const name = taken.has(plain) ? `${plain}:${first.listen.port}` : plain
    taken.add(name)
    return [{ name, listen: first.listen, chain: chain(name, group) }]
  })
}

/** Clusters of a proxy's probes: the workload's own ports. */
export function probeClusters(
  probes: readonly ProbeBinding[],
  ipFamilies: ProxyPart['ipFamilies'],
): readonly ProbeCluster[] {
  const address = ipFamilies.includes('IPv4') ? '127.0.0.1' : '::1'
  return namedProbes(probes).map(({ probe, cluster }) => ({
    name: cluster,
    value: encode(ClusterSchema, {
      ...staticCluster(cluster, [{ address, port: probe.target.port }]),
      connectTimeout: duration(probe.timeoutMs),
      ...(probe.path === '' ? {} : towards(probe.target.type)),
    }),
  }))
}

/** How the workload is spoken to where the sidecar asks in the place of the one who asks it. */
function towards(type: ProbeBinding['target']['type']): Init<typeof ClusterSchema> {
  switch (type) {
    case 'http':
      return {}
    case 'https':
      return { transportSocket: unverifiedClientTls() }
    case 'tcp':
      return { upstreamConfig: connectionOnly() }
    case 'grpc':
      return { typedExtensionProtocolOptions: httpProtocolOptions('grpc') }
  }
}

/** The first container keeps the names that OSM gives; the names of others say whose they are. */
function namedProbes(probes: readonly ProbeBinding[]): readonly NamedProbe[] {
  const order = compareBy<ProbeBinding>(
    (a, b) => compareText(a.probe, b.probe),
    (a, b) => compareText(a.container, b.container),
  )
  const taken = new Set<string>()
  return [...probes].sort(order).map((probe) => {
    const plain = names.probeCluster(probe.probe)
    const cluster = taken.has(plain) ? `${plain}|${probe.container}` : plain
    taken.add(cluster)
    return { probe, cluster }
  })
}

function chain(name: string, group: readonly NamedProbe[]): Uint8Array {
  const tunnel = group.find(({ probe }) => probe.path === '')
  return encode(FilterChainSchema, {
    filters: tunnel === undefined ? httpFilter(name, group) : tcpFilter(name, tunnel),
  })
}

/** A binding without a path goes through as it is, so that the one who asks sees the workload's own answer. */
function tcpFilter(name: string, { cluster }: NamedProbe): Init<typeof FilterSchema>[] {
  return networkFilters({
    'envoy.filters.network.tcp_proxy': pack(TcpProxySchema, {
      statPrefix: name,
      clusterSpecifier: { case: 'cluster', value: cluster },
    }),
  })
}

function httpFilter(name: string, group: readonly NamedProbe[]): Init<typeof FilterSchema>[] {
  return networkFilters({
    'envoy.filters.network.http_connection_manager': pack(HttpConnectionManagerSchema, {
      statPrefix: name,
      routeSpecifier: {
        case: 'routeConfig',
        value: { virtualHosts: [{ name, domains: ['*'], routes: group.map(route) }] },
      },
      httpFilters: httpFilters({
        ...(group.some(({ probe }) => probe.target.type === 'tcp')
          ? { 'envoy.filters.http.custom_response': endsWithHeaders() }
          : {}),
        'envoy.filters.http.router': pack(RouterSchema, {}),
      }),
    }),
  })
}

function route({ probe, cluster }: NamedProbe): Init<typeof RouteSchema> {
  const { type, headers = [] } = probe.target
  const host = headers.find(({ name }) => name.toLowerCase() === 'host')
  return {
    match: { pathSpecifier: { case: 'path', value: probe.path } },
    // Envoy refuses to add this header as it adds others.
    requestHeadersToAdd: headers
      .filter((header) => header !== host)
      .map(({ name, value }) => ({
        header: { key: name, value },
        appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      })),
    action: {
      case: 'route',
      value: {
        clusterSpecifier: { case: 'cluster', value: cluster },
        ...originalPath(probe),
        timeout: duration(probe.timeoutMs),
        ...(host === undefined
          ? {}
          : { hostRewriteSpecifier: { case: 'hostRewriteLiteral' as const, value: host.value } }),
      },
    },
    ...(type === 'tcp' ? { typedPerFilterConfig: answerWhenConnected() } : {}),
  }
}

/** gRPC has one path, which the one who asks sends by itself; a mere connection has none. */
function originalPath({ target }: ProbeBinding): Init<typeof RouteActionSchema> {
  return target.type === 'http' || target.type === 'https' ? { prefixRewrite: target.path ?? '/' } : {}
}
