import {
  compareBy,
  compareText,
  type ProbeBinding,
  type ProxyPart,
  type SocketAddress,
} from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import type { HeaderMutationSchema } from '@osm-ts/envoy-api/envoy/config/common/mutation_rules/v3/mutation_rules_pb.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import {
  FilterChainSchema,
  type FilterSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import type { RouteActionSchema, RouteSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import {
  HttpConnectionManager_CodecType as CodecType,
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  HttpConnectionManagerSchema,
} from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { staticCluster } from '../upstreams/cluster.js'
import { duration, encode, type Init, pack } from '../encoding/encode.js'
import { httpFilters, networkFilters } from '../routing/filter-order.js'
import { withoutCallersClaims } from '../routing/http-manager.js'
import { httpProtocolOptions } from '../routing/http-protocol.js'
import { headerValue, type HeaderMatcherInit } from '../routing/matching.js'
import { names } from '../encoding/names.js'
import { answerWhenConnected, connectionOnly, endsWithHeaders } from './tcp-probe.js'
import { unverifiedClientTls } from '../access/tls.js'
import { DEFAULT_HTTP_LIMITS } from '../settings.js'

/** A listener that answers probes without TLS. */
export interface ProbeListener {
  readonly name: string
  readonly listen: SocketAddress
  /** Without match conditions where there is one, else one for HTTP/2. */
  readonly chains: readonly Uint8Array[]
  /** For connections that speak HTTP/1.1, or nothing of the kind; where gRPC probes share the address with others. */
  readonly defaultChain?: Uint8Array
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
    return [{ name, listen: first.listen, ...chainsOf(name, group) }]
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
      ...towards(probe.target.type),
    }),
  }))
}

/** How the workload is spoken to where the sidecar asks in place of the one who asks it. */
function towards(type: ProbeBinding['target']['type']): Init<typeof ClusterSchema> {
  switch (type) {
    case 'http':
      return {}
    case 'https':
      return { transportSocket: unverifiedClientTls() }
    case 'tcp':
      return { upstreamConfig: connectionOnly() }
    case 'grpc':
      return { typedExtensionProtocolOptions: httpProtocolOptions('grpc', DEFAULT_HTTP_LIMITS) }
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

/**
 * One kind of HTTP for each kind of probe, so that nothing but the probe can be spoken: gRPC is HTTP/2, and a request of HTTP/1.1 without length and encoding
 * has no body.
 */
function chainsOf(name: string, group: readonly NamedProbe[]): Pick<ProbeListener, 'chains' | 'defaultChain'> {
  const grpc = group.filter(({ probe }) => probe.target.type === 'grpc')
  const others = group.filter(({ probe }) => probe.target.type !== 'grpc')
  if (grpc.length === 0) return { chains: [chain(name, others, CodecType.HTTP1)] }
  if (others.length === 0) return { chains: [chain(name, grpc, CodecType.HTTP2)] }
  return {
    chains: [chain(name, grpc, CodecType.HTTP2, { filterChainMatch: { applicationProtocols: ['h2c'] } })],
    defaultChain: chain(name, others, CodecType.HTTP1),
  }
}

function chain(
  name: string,
  group: readonly NamedProbe[],
  codecType: CodecType,
  match: Init<typeof FilterChainSchema> = {},
): Uint8Array {
  return encode(FilterChainSchema, { ...match, filters: httpFilter(name, group, codecType) })
}

function httpFilter(name: string, group: readonly NamedProbe[], codecType: CodecType): Init<typeof FilterSchema>[] {
  return networkFilters({
    'envoy.filters.network.http_connection_manager': pack(HttpConnectionManagerSchema, {
      statPrefix: name,
      codecType,
      routeSpecifier: {
        case: 'routeConfig',
        value: { virtualHosts: [{ name, domains: ['*'], routes: group.map(route) }] },
      },
      earlyHeaderMutationExtensions: withoutCallersClaims(codecType === CodecType.HTTP1 ? [noteEncoding] : []),
      forwardClientCertDetails: ForwardClientCert.SANITIZE,
      httpFilters: httpFilters({
        ...(group.some(({ probe }) => probe.target.type === 'tcp')
          ? { 'envoy.filters.http.custom_response': endsWithHeaders() }
          : {}),
        'envoy.filters.http.router': pack(RouterSchema, {}),
      }),
    }),
  })
}

/** Envoy takes `transfer-encoding` away before it chooses a route. This header says that there was one; who sends it is refused. */
const ENCODING_HEADER = 'x-osm-transfer-encoding'

const noteEncoding: Init<typeof HeaderMutationSchema> = {
  action: {
    case: 'append',
    value: {
      header: { key: ENCODING_HEADER, value: '%REQ(TRANSFER-ENCODING)%' },
      appendAction: AppendAction.APPEND_IF_EXISTS_OR_ADD,
    },
  },
}

/** What a request must be like to be a probe. The path stands among the headers as it was sent: with a query, it is another one. */
function isProbe({ path, target }: ProbeBinding): readonly HeaderMatcherInit[] {
  const only = headerValue(':path', { type: 'exact', value: path })
  if (target.type === 'grpc')
    return [
      only,
      headerValue(':method', { type: 'exact', value: 'POST' }),
      headerValue('content-type', { type: 'prefix', value: 'application/grpc' }),
    ]
  return [
    only,
    headerValue(':method', { type: 'regex', value: 'GET|HEAD' }),
    ...['content-length', ENCODING_HEADER].map((name): HeaderMatcherInit => {
      return { name, headerMatchSpecifier: { case: 'presentMatch', value: false } }
    }),
  ]
}

function route({ probe, cluster }: NamedProbe): Init<typeof RouteSchema> {
  const { type, headers = [] } = probe.target
  const host = headers.find(({ name }) => name.toLowerCase() === 'host')
  return {
    match: { pathSpecifier: { case: 'path', value: probe.path }, headers: [...isProbe(probe)] },
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
