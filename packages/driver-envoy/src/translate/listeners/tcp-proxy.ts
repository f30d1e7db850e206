import type { Any } from '@bufbuild/protobuf/wkt'
import type { ConnectionShares, MeshPart, WeightedUpstream } from '@osm-ts/driver-api/policy'
import type { FilterSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { RBACSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac_pb.js'
import { TcpProxySchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js'

import { accessLogs } from '../telemetry/access-log.js'
import { duration, type Init, pack } from '../encoding/encode.js'
import { names } from '../encoding/names.js'
import { type FilterConfigs, networkFilters } from '../routing/filter-order.js'
import { denyAll } from '../access/rbac.js'
import { positiveWeights } from '../routing/weights.js'

type ClusterSpecifier = NonNullable<Init<typeof TcpProxySchema>['clusterSpecifier']>

/** Name under which `network-rbac.*` statistics appear, as OSM has it. */
const NETWORK_RBAC_STAT_PREFIX = 'network-'

/** Forwards the bytes of a connection to one cluster. */
export function tcpProxy(statPrefix: string, cluster: string, mesh: MeshPart): Any {
  return proxy(statPrefix, { case: 'cluster', value: cluster }, mesh)
}

/**
 * Filters that spread connections over upstreams; where no target has weight, they close every connection, and otherwise a share of them.
 *
 * @param before - what connections pass before that
 */
export function weightedTcpFilters(
  statPrefix: string,
  { targets, errorWeight = 0 }: ConnectionShares,
  mesh: MeshPart,
  before: Omit<FilterConfigs<'network'>, 'envoy.filters.network.tcp_proxy'> = {},
): Init<typeof FilterSchema>[] {
  const specifier = weightedSpecifier(targets, errorWeight)
  if (specifier === undefined) return closingFilters(statPrefix, mesh)
  return networkFilters({ ...before, 'envoy.filters.network.tcp_proxy': proxy(statPrefix, specifier, mesh) })
}

/**
 * Filters that make a stream of HTTP/2 of each connection; where no gateway has weight, they close every connection.
 *
 * @param destination - format of what a gateway is told to connect to
 */
export function tunnelFilters(
  statPrefix: string,
  gateways: readonly WeightedUpstream[],
  mesh: MeshPart,
  destination: string,
): Init<typeof FilterSchema>[] {
  const specifier = weightedSpecifier(gateways)
  if (specifier === undefined) return closingFilters(statPrefix, mesh)
  // Whatever enters the tunnel is in the access log already.
  const unlogged = { ...mesh, accessLog: { ...mesh.accessLog, enabled: false } }
  const tunnel = { tunnelingConfig: { hostname: destination } }
  return networkFilters({ 'envoy.filters.network.tcp_proxy': proxy(statPrefix, specifier, unlogged, tunnel) })
}

/** Envoy closes connections for a cluster that does not exist. */
function weightedSpecifier(targets: readonly WeightedUpstream[], errorWeight = 0): ClusterSpecifier | undefined {
  const reached = positiveWeights(targets)
  const [only] = reached
  if (only === undefined) return undefined
  const clusters = errorWeight > 0 ? [...reached, { name: names.missingCluster, weight: errorWeight }] : reached
  return clusters.length === 1
    ? { case: 'cluster', value: only.name }
    : { case: 'weightedClusters', value: { clusters: [...clusters] } }
}

/** Filters that close every connection. */
function closingFilters(statPrefix: string, mesh: MeshPart): Init<typeof FilterSchema>[] {
  return networkFilters({
    'envoy.filters.network.rbac': pack(RBACSchema, { statPrefix: NETWORK_RBAC_STAT_PREFIX, rules: denyAll }),
    'envoy.filters.network.tcp_proxy': tcpProxy(statPrefix, 'none', mesh),
  })
}

function proxy(
  statPrefix: string,
  clusterSpecifier: ClusterSpecifier,
  mesh: MeshPart,
  more: Pick<Init<typeof TcpProxySchema>, 'tunnelingConfig'> = {},
): Any {
  const init: Init<typeof TcpProxySchema> = {
    statPrefix,
    idleTimeout: duration(mesh.tcpIdleTimeoutMs),
    accessLog: accessLogs(mesh, 'tcp'),
    // Only clusters that balance by hash look at it.
    hashPolicy: [{ policySpecifier: { case: 'sourceIp', value: {} } }],
    clusterSpecifier,
    ...more,
  }
  return pack(TcpProxySchema, init)
}
