import type { SocketAddress } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { FilterChainSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { staticCluster } from '../upstreams/cluster.js'
import { duration, encode, pack } from '../encoding/encode.js'
import { httpFilters, networkFilters } from '../routing/filter-order.js'
import { headerValue } from '../routing/matching.js'
import { names } from '../encoding/names.js'

/** Path of the metrics, on the proxy's administration interface as well as outside. */
export const METRICS_PATH = '/stats/prometheus'

/** The cluster of the proxy's own administration interface. */
export function metricsCluster(admin: SocketAddress): Uint8Array {
  return encode(ClusterSchema, { ...staticCluster(names.metricsCluster, [admin]), connectTimeout: duration(1_000) })
}

/** Plaintext metrics for scrapers outside the mesh: reading one path, and nothing else of the administration interface. */
export function prometheusChain(): Uint8Array {
  return encode(FilterChainSchema, {
    filters: networkFilters({
      'envoy.filters.network.http_connection_manager': pack(HttpConnectionManagerSchema, {
        statPrefix: 'prometheus-http-conn-manager',
        normalizePath: true,
        mergeSlashes: true,
        routeSpecifier: {
          case: 'routeConfig',
          value: {
            virtualHosts: [
              {
                name: 'prometheus_envoy_admin',
                domains: ['*'],
                routes: [
                  {
                    match: {
                      pathSpecifier: { case: 'path', value: METRICS_PATH },
                      headers: [headerValue(':method', { type: 'exact', value: 'GET' })],
                    },
                    action: {
                      case: 'route',
                      value: { clusterSpecifier: { case: 'cluster', value: names.metricsCluster } },
                    },
                  },
                ],
              },
            ],
          },
        },
        httpFilters: httpFilters({ 'envoy.filters.http.router': pack(RouterSchema, {}) }),
      }),
    }),
  })
}
