import type { UpstreamTls } from '@osm-ts/driver-api/policy'
import type { Cluster_TransportSocketMatchSchema as MatchSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { RawBufferSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb.js'

import { type Init, pack } from '../encoding/encode.js'

/** Metadata of endpoints without a sidecar, by which a cluster chooses plaintext for them. */
export const PLAINTEXT_MATCH = Object.freeze({ plaintext: true })

/** Plaintext towards endpoints without a sidecar, where the upstream allows it. Everything else is spoken to by the cluster's own transport socket. */
export function plaintextSockets(tls: UpstreamTls): Init<typeof MatchSchema>[] {
  if (tls.mode !== 'mesh' || tls.plaintext !== true) return []
  return [
    {
      name: 'plaintext',
      match: PLAINTEXT_MATCH,
      transportSocket: {
        name: 'envoy.transport_sockets.raw_buffer',
        configType: { case: 'typedConfig', value: pack(RawBufferSchema, {}) },
      },
    },
  ]
}
