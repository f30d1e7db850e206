import type { ProxyPart, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'

import type { PolicyPart } from '../catalog/policy/policy-part.js'

/** Where the host gets policies from: the mesh catalog. */
export interface PolicyProvider {
  /** The policy in force, or undefined while the workload does not exist or the mesh has not been read yet. */
  policyFor(uuid: ProxyUUID): PolicyPart<ProxyPart> | undefined
  /** Calls back after each recomputation with the proxies whose policy changed. The result ends it. */
  onPolicies(listener: (changed: ReadonlySet<ProxyUUID>) => void): () => void
  /**
   * Calls back after each recomputation, whether it changed a policy or not, with the only accounts that may be behind other services than before; undefined
   * where any may. The result ends it.
   */
  announcements(listener: (accounts: readonly ServiceAccountRef[] | undefined) => void): () => void
}

/** A workload that a sidecar stands beside. */
export interface ProxyInstance {
  readonly uuid: ProxyUUID
  readonly serviceAccount: ServiceAccountRef
  /** Sidecar class that the workload was admitted with. */
  readonly class: string
  /** Name of the pod or process, for people. */
  readonly name: string
  /** True if it takes traffic. */
  readonly ready: boolean
}

/** Which workloads exist. */
export interface InstanceProvider {
  instance(uuid: ProxyUUID): ProxyInstance | undefined
  /** All of them, sorted by namespace and name. */
  instances(): readonly ProxyInstance[]
  /** Calls back with workloads that are gone. The result ends it. */
  onRemoved(listener: (uuids: readonly ProxyUUID[]) => void): () => void
}
