import type { OutboundPart, ProxyPart } from '@osm-ts/driver-api/policy'

import type { Breakers } from './upstreams/breakers.js'
import type { PolicyReader, Served, ServedOutside } from './policy-reader.js'
import type { Settings } from './settings.js'
import type { PlaintextUpstreams } from './upstreams/plaintext.js'
import type { EgressGatewayRoutes } from './egress/egress-gateway-routes.js'

/** Marks of withdrawn access by id of the inbound part; a chain whose mark changes is drained. */
export type DrainEpochs = ReadonlyMap<string, string>

/**
 * What replicas of a workload have in common of their policies: nearly always all that is translated besides endpoints. What distinguishes one from
 * another is not here, so that no resource can depend on it.
 */
export type ReplicaPolicy = Omit<ProxyPart, 'id' | 'addresses' | 'locality' | 'endpoints' | 'workload'> & {
  /** Present where resources name their own pod: then each replica has resources of its own. */
  readonly workload?: ProxyPart['workload']
}

/** Takes from the policy of one replica what all of them have. */
export function replicaPolicy(proxy: ProxyPart, namesPod: boolean): ReplicaPolicy {
  const { id: _id, addresses: _addresses, locality: _locality, endpoints: _endpoints, workload, ...shared } = proxy
  return namesPod ? { ...shared, workload } : shared
}

/** A proxy's policy as the translation of one revision sees it. */
export interface ProxyView {
  readonly proxy: ReplicaPolicy
  readonly reader: PolicyReader
  readonly settings: Settings
  /** Sorted by id. */
  readonly served: readonly Served[]
  /** Sorted by id. */
  readonly servedOutside: readonly ServedOutside[]
  readonly egressGatewayRoutes: EgressGatewayRoutes
  readonly breakers: Breakers
  readonly plaintext: PlaintextUpstreams
  readonly drainEpochs: DrainEpochs
  /** Services that the policy no longer has, and that connections may still be open to; sorted by id. */
  readonly retired: readonly OutboundPart[]
}
