import type { SocketAddress } from '@osm-ts/driver-api/policy'
import { ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { RequestMethod } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'

import { staticCluster } from './cluster.js'
import { duration, encode } from '../encoding/encode.js'
import { names } from '../encoding/names.js'

/** Path of Envoy's administration interface that ends it, successfully, on a POST. */
export const QUIT_PATH = '/quitquitquit'

const TIMEOUT_MS = 1_000

/**
 * A cluster that ends the Envoy which gets it.
 *
 * xDS has no word for that. But Envoy checks the health of a cluster before it uses it, with the method and the path that it is told: here with the request
 * that ends it, to its own administration interface. So the request comes over the one connection that only the control plane has, and no port has to be
 * opened over which others could end a sidecar.
 */
export function quitCluster(admin: SocketAddress): Uint8Array {
  return encode(ClusterSchema, {
    ...staticCluster(names.quitCluster, [admin]),
    connectTimeout: duration(TIMEOUT_MS),
    healthChecks: [
      {
        timeout: duration(TIMEOUT_MS),
        interval: duration(TIMEOUT_MS),
        noTrafficInterval: duration(TIMEOUT_MS),
        unhealthyThreshold: 1,
        healthyThreshold: 1,
        healthChecker: { case: 'httpHealthCheck', value: { path: QUIT_PATH, method: RequestMethod.POST } },
      },
    ],
  })
}
