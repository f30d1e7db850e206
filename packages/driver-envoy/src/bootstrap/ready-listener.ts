import type { SocketAddress } from '@osm-ts/driver-api/policy'
import type { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import type { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { RouterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import { staticCluster } from '../translate/upstreams/cluster.js'
import { duration, type Init, pack } from '../translate/encoding/encode.js'
import { httpFilters, networkFilters } from '../translate/routing/filter-order.js'

/** Port on which a kubelet, which can't reach the loopback address of a pod, asks whether Envoy is ready. */
export const READY_PORT = 15904
/** Path under which it does. */
export const READY_PATH = '/osm-sidecar-ready'

const NAME = 'sidecar-ready'
const TIMEOUT_MS = 1_000

/**
 * Lets others than the pod itself ask whether Envoy has its first configuration, and nothing else of its administration
 * interface. It is in the bootstrap configuration: the answer is wanted before there is any other.
 */
export function readyListener(address: string): Init<typeof ListenerSchema> {
  return {
    name: NAME,
    address: {
      address: {
        case: 'socketAddress',
        // Without the last member the IPv6 wildcard would take no IPv4 connections.
        value: {
          address,
          portSpecifier: { case: 'portValue', value: READY_PORT },
          ...(address === '::' ? { ipv4Compat: true } : {}),
        },
      },
    },
    filterChains: [
      {
        filters: networkFilters({
          'envoy.filters.network.http_connection_manager': pack(HttpConnectionManagerSchema, {
            statPrefix: NAME,
            routeSpecifier: {
              case: 'routeConfig',
              value: {
                virtualHosts: [
                  {
                    name: NAME,
                    domains: ['*'],
                    routes: [
                      {
                        match: { pathSpecifier: { case: 'path', value: READY_PATH } },
                        action: {
                          case: 'route',
                          value: {
                            clusterSpecifier: { case: 'cluster', value: NAME },
                            prefixRewrite: '/ready',
                            timeout: duration(TIMEOUT_MS),
                          },
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
      },
    ],
  }
}

/** The administration interface, for {@link readyListener}. */
export function readyCluster(admin: SocketAddress): Init<typeof ClusterSchema> {
  return { ...staticCluster(NAME, [admin]), connectTimeout: duration(TIMEOUT_MS) }
}
