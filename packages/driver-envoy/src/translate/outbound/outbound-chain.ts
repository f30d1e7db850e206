import type { Any } from '@bufbuild/protobuf/wkt'
import type { ConnectionShares, OutboundPart } from '@osm-ts/driver-api/policy'
import { FilterChainSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'

import { drainMetadata } from '../access/drain-epoch.js'
import { hostRange } from '../encoding/address.js'
import { adsSource } from '../encoding/config-source.js'
import { encode, oneOf, pack, typeUrl } from '../encoding/encode.js'
import { type FilterConfigs, HTTP_SET_FILTER_STATE, networkFilters } from '../routing/filter-order.js'
import { forwardProxyFilter } from '../egress/forward-proxy.js'
import { httpManager, routedManager } from '../routing/http-manager.js'
import { names } from '../encoding/names.js'
import type { ChainSelector, SelectedChain } from '../listeners/chain-matcher.js'
import type { SharedChain } from './shared-chains.js'
import type { MeshSettings } from '../settings.js'
import { breakerFilters } from '../upstreams/statistical-breaker.js'
import { tcpProxy, weightedTcpFilters } from '../listeners/tcp-proxy.js'
import { connectionDestinationFilter, requestDestinationFilter } from '../egress/tunnel.js'
import type { Tunnel } from '../egress/egress-gateway-routes.js'

/** Gives the connection manager of a port. */
export type OutboundManager = (port: number) => Any

/**
 * The filter chains of a called service port in transparent mode, selected by the address that the workload dialled, and the server name of TLS where that
 * chooses. None while the service has no address: a chain without one would take the connections of all others.
 */
export function outboundChains(
  part: OutboundPart,
  mesh: MeshSettings,
  http: OutboundManager,
): readonly SelectedChain[] {
  if (part.addresses.length === 0) return []
  const chain = names.outboundChain(part)
  const value = encode(FilterChainSchema, {
    name: chain,
    filters:
      part.rules.kind === 'http'
        ? networkFilters({
            'envoy.filters.network.http_connection_manager': managerOf(part, http(part.port)),
          })
        : weightedTcpFilters(chain, part.rules, mesh),
  })
  const named = serverNameChains(part, mesh).map(({ value: own, chain: name, serverNames }) => ({
    value: own,
    selector: { ...selectorOf(part, name), serverNames },
  }))
  return [{ value, selector: selectorOf(part, chain) }, ...named]
}

/** Chains of TLS connections whose server name chooses where they go. */
function serverNameChains(part: OutboundPart, mesh: MeshSettings): readonly Required<BoundChain>[] {
  const routes = part.rules.kind === 'tcp' ? (part.rules.serverNameRoutes ?? []) : []
  return routes.map(({ serverNames, ...shares }, index) => {
    const chain = `${names.outboundChain(part)}_sni_${index}`
    const value = encode(FilterChainSchema, { name: chain, filters: weightedTcpFilters(chain, shares, mesh) })
    return { chain, value, serverNames }
  })
}

/**
 * The filter chain of the services of a port that share one, see {@link SharedChain}: the address that was dialled chooses between their virtual hosts.
 *
 * @param manager - name of the resource with its connection manager
 */
export function sharedChain({ port, shard }: SharedChain, manager: string): Uint8Array {
  const discovery = { configSource: adsSource(), typeUrls: [typeUrl(HttpConnectionManagerSchema)] }
  return encode(FilterChainSchema, {
    name: names.sharedOutboundChain(port, shard),
    filters: [{ name: manager, configType: oneOf('configDiscovery', discovery) }],
  })
}

/** Connections to the addresses of a called service. */
export function selectorOf({ port, addresses }: OutboundPart, chain: string): ChainSelector {
  return { chain, port, ranges: [...addresses].sort().map(hostRange) }
}

/**
 * A service with its own chain has its own route configuration. Envoy then uses its chain when the routes have arrived, and connections of a chain that
 * is gone keep their routes until they are drained.
 */
function managerOf(part: OutboundPart, base: Any): Any {
  return routedManager(base, names.serviceRoutes(part), `${part.service.name}.${part.service.namespace}`)
}

/** A filter chain of a called TCP port in explicit mode. */
export interface BoundChain {
  readonly chain: string
  readonly value: Uint8Array
  /** Absent: what no other chain takes. */
  readonly serverNames?: readonly string[]
}

/** The filter chains of a listener that was made for one called TCP port in explicit mode: one, and those that server names choose. */
export function boundOutboundChains(
  part: OutboundPart,
  shares: ConnectionShares,
  mesh: MeshSettings,
): readonly BoundChain[] {
  const chain = names.outboundChain(part)
  const value = encode(FilterChainSchema, { name: chain, filters: weightedTcpFilters(chain, shares, mesh) })
  return [{ chain, value }, ...serverNameChains(part, mesh)]
}

/** The chain of destinations that no other chain takes, while global egress is on. */
export function passthroughChain(mesh: MeshSettings, tunnel: Tunnel | undefined): Uint8Array {
  const cluster =
    tunnel === undefined ? names.passthroughCluster : names.tunnelledCluster(names.passthroughCluster, tunnel.name)
  return encode(FilterChainSchema, {
    name: names.passthroughChain,
    filters: networkFilters({
      ...(tunnel === undefined
        ? {}
        : { 'envoy.filters.network.set_filter_state': connectionDestinationFilter({ kind: 'dialled' }) }),
      'envoy.filters.network.tcp_proxy': tcpProxy(`egress-tcp-proxy.${names.passthroughCluster}`, cluster, mesh),
    }),
  })
}

/** What the forward proxy of explicit mode has to do. */
interface ForwardProxy {
  /** Requests for hosts outside the mesh may pass. */
  readonly leavesMesh: boolean
  /** Some of them do so through gateways. */
  readonly hasTunnels: boolean
  /** Something that is called has a statistical breaker. */
  readonly hasBreakers: boolean
  /** Mark of a host that was closed. */
  readonly drainEpoch: string | undefined
}

/** The only chain of the forward proxy of explicit mode: HTTP to any host, routed by the host that requests name. */
export function forwardProxyChain(
  mesh: MeshSettings,
  { leavesMesh, hasTunnels, hasBreakers, drainEpoch }: ForwardProxy,
): Uint8Array {
  return encode(FilterChainSchema, {
    name: names.forwardProxyChain,
    ...drainMetadata(drainEpoch),
    filters: networkFilters({
      'envoy.filters.network.http_connection_manager': httpManager({
        routes: names.forwardProxyRoutes,
        statPrefix: names.forwardProxyRoutes,
        mesh,
        // Paths of the outside are not ours to change; the called side merges by itself before it decides.
        mergeSlashes: !leavesMesh,
        hostChooses: true,
        filters: {
          ...breakerFilters(hasBreakers),
          ...(leavesMesh ? { 'envoy.filters.http.dynamic_forward_proxy': forwardProxyFilter() } : {}),
          ...(hasTunnels ? { [HTTP_SET_FILTER_STATE]: requestDestinationFilter() } : {}),
          'envoy.filters.http.router': pack(RouterSchema, {}),
        },
      }),
    }),
  })
}

/**
 * What the connection managers of all called HTTP services on a port share: all but the routes. Their statistics are of the port, as in OSM.
 *
 * @param filters - what they have besides the router
 */
export function outboundManager(port: number, mesh: MeshSettings, filters: FilterConfigs<'http'>): Any {
  return httpManager({
    routes: undefined,
    statPrefix: names.outboundRoutes(port),
    mesh,
    mergeSlashes: true,
    filters: { ...filters, 'envoy.filters.http.router': pack(RouterSchema, {}) },
  })
}
