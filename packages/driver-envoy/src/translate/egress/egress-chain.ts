import type { EgressPart, Protocol } from '@osm-ts/driver-api/policy'
import { FilterChainSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'

import { drainMetadata } from '../access/drain-epoch.js'
import { cidrRange } from '../encoding/address.js'
import { type BreakersByCluster, breakersOfRoutes } from '../upstreams/breakers.js'
import { encode, pack } from '../encoding/encode.js'
import { HTTP_SET_FILTER_STATE, networkFilters } from '../routing/filter-order.js'
import { forwardProxyFilter, sniForwardProxyFilter } from './forward-proxy.js'
import { egressDrainId } from '../../resources/drain-ids.js'
import { httpManager } from '../routing/http-manager.js'
import type { ChainSelector, SelectedChain } from '../listeners/chain-matcher.js'
import { names } from '../encoding/names.js'
import type { DrainEpochs } from '../proxy-view.js'
import type { MeshSettings } from '../settings.js'
import { breakerFilters } from '../upstreams/statistical-breaker.js'
import { weightedTcpFilters } from '../listeners/tcp-proxy.js'
import { connectionDestinationFilter, requestDestinationFilter } from './tunnel.js'
import { throughGateways, type WayOut, type EgressGatewayRoutes } from './egress-gateway-routes.js'

/** Stands for every server in {@link EgressPart.serverNames}. */
const ANY_SERVER = '*'

/**
 * Filter chains of destinations outside the mesh, in transparent mode. Services of the mesh are selected by address, which counts before a port
 * alone, so that they never come here.
 *
 * @param byServerName - ids of upstreams whose addresses are those of the server name
 * @param egressGatewayRoutes - which of them are reached through gateways
 * @param breakers - which of their upstreams have statistical breakers
 * @param drainEpochs - marks of ways out that were closed
 */
export function egressChains(
  parts: readonly EgressPart[],
  mesh: MeshSettings,
  byServerName: ReadonlySet<string>,
  egressGatewayRoutes: EgressGatewayRoutes,
  breakers: BreakersByCluster,
  drainEpochs: DrainEpochs,
): readonly SelectedChain[] {
  const httpParts = parts.filter(({ protocol }) => protocol === 'http')
  const httpPorts = [...new Set(httpParts.map(({ port }) => port))]
  const hasBreakers = (port: number): boolean =>
    httpParts.some((part) => part.port === port && breakersOfRoutes(part.routes, breakers).size > 0)
  return [
    ...httpPorts
      .sort((a, b) => a - b)
      .map((port) => httpChain(port, mesh, egressGatewayRoutes.key !== '', hasBreakers(port), drainEpochs)),
    ...parts
      .filter(({ protocol }) => protocol !== 'http')
      // Two chains must not match alike: any address of a port is what an HTTP chain already takes.
      .filter((part) => selects(part) || !httpPorts.includes(part.port))
      .map((part) => tcpChain(part, mesh, byServerName, egressGatewayRoutes.byPart.get(part.id), drainEpochs)),
  ]
}

/**
 * Ports of HTTPS, on which clients speak first. They are always inspected: which ports are inspected is part of the listener itself, and Envoy closes all
 * connections of a listener that changes, such as those to databases when the first Egress for port 443 is added.
 */
const HTTPS_PORTS = [443, 6443, 8443] as const

/**
 * Ports of HTTPS that are inspected, whatever uses them.
 *
 * @param parts - what is called and opened; a server of theirs may speak first
 */
export function alwaysInspectedPorts(
  parts: readonly { readonly port: number; readonly protocol: Protocol }[],
): readonly number[] {
  return HTTPS_PORTS.filter(
    (always) => !parts.some(({ port, protocol }) => port === always && protocol === 'tcp-server-first'),
  )
}

/** Ports on which the SNI name chooses, so that the first bytes must be read. */
export function inspectedPorts(parts: readonly EgressPart[]): readonly number[] {
  const ports = parts.filter(({ protocol }) => protocol === 'https').map(({ port }) => port)
  return [...new Set(ports)].sort((a, b) => a - b)
}

function httpChain(
  port: number,
  mesh: MeshSettings,
  hasTunnels: boolean,
  hasBreakers: boolean,
  drainEpochs: DrainEpochs,
): SelectedChain {
  const name = names.egressHttpChain(port)
  const value = encode(FilterChainSchema, {
    name,
    ...drainMetadata(drainEpochs.get(egressDrainId({ protocol: 'http', port }))),
    filters: networkFilters({
      'envoy.filters.network.http_connection_manager': httpManager({
        routes: names.egressRoutes(port),
        statPrefix: names.egressRoutes(port),
        mesh,
        // Paths of the outside are not ours to change.
        mergeSlashes: false,
        hostChooses: true,
        filters: {
          ...breakerFilters(hasBreakers),
          'envoy.filters.http.dynamic_forward_proxy': forwardProxyFilter(),
          ...(hasTunnels ? { [HTTP_SET_FILTER_STATE]: requestDestinationFilter() } : {}),
          'envoy.filters.http.router': pack(RouterSchema, {}),
        },
      }),
    }),
  })
  return { value, selector: { chain: name, port, ranges: [] } }
}

function tcpChain(
  part: EgressPart,
  mesh: MeshSettings,
  byServerName: ReadonlySet<string>,
  way: WayOut | undefined,
  drainEpochs: DrainEpochs,
): SelectedChain {
  const name = names.egressChain(part)
  const { targets } = throughGateways(part, way)
  const destination = way?.destinations[0]
  const isResolved = part.protocol === 'https' && targets.some(({ upstream }) => byServerName.has(upstream))
  const value = encode(FilterChainSchema, {
    name,
    ...drainMetadata(drainEpochs.get(egressDrainId(part))),
    filters: weightedTcpFilters(name, { targets }, mesh, {
      ...(destination === undefined
        ? {}
        : { 'envoy.filters.network.set_filter_state': connectionDestinationFilter(destination) }),
      ...(isResolved ? { 'envoy.filters.network.sni_dynamic_forward_proxy': sniForwardProxyFilter(part.port) } : {}),
    }),
  })
  return { value, selector: { chain: name, port: part.port, ...selector(part) } }
}

function selects({ serverNames, cidrs }: EgressPart): boolean {
  return serverNames.length > 0 || cidrs.length > 0
}

function selector(part: EgressPart): Pick<ChainSelector, 'ranges' | 'serverNames'> {
  if (part.protocol !== 'https') return { ranges: [...part.cidrs].sort().map(cidrRange) }
  // Every name, and none, is what no name stands for.
  return { ranges: [], serverNames: part.serverNames.includes(ANY_SERVER) ? [] : [...part.serverNames].sort() }
}
