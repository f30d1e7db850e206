import type { ProxyPart } from '@osm-ts/driver-api/policy'

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
