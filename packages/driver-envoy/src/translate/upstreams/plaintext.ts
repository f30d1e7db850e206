import type { UpstreamTls } from '@osm-ts/driver-api/policy'
import type { Cluster_TransportSocketMatchSchema as MatchSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { RawBufferSchema } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb.js'

import { type Init, pack } from '../encoding/encode.js'
import { contentVersion } from '../../resources/encoded-resource.js'
import type { PolicyReader, ReplicaPolicy } from '../policy-reader.js'

/** Metadata of endpoints without a sidecar, by which a cluster chooses plaintext for them. */
export const PLAINTEXT_MATCH = Object.freeze({ plaintext: true })

/** Upstreams that may be spoken to in plaintext. */
export interface PlaintextUpstreams {
  /** Pins them; empty if there are none. */
  readonly key: string
  readonly ids: ReadonlySet<string>
}

/** Reads which upstreams of a proxy may be spoken to in plaintext. */
export function plaintextUpstreams({ upstreams }: ReplicaPolicy, reader: PolicyReader): PlaintextUpstreams {
  const ids = reader
    .members(upstreams, 'upstream')
    .list.flatMap(({ part: { id, tls } }) => (tls.mode === 'mesh' && tls.plaintext === true ? [id] : []))
  return { key: ids.length === 0 ? '' : contentVersion(ids.join('\0')), ids: new Set(ids) }
}

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
