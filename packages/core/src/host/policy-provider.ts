import type { ProxyCommonName, ProxyRef, ServiceAccountRef } from '@osm-ts/driver-api'
import type { EndpointsPart, PartHash, ProxyPart } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'
import type { EndpointsChange } from '../catalog/store/endpoint-contents.js'
import type { ProxyIdentity } from '../identity/proxy-identity.js'
import type { ProxyKey } from '../identity/proxy-key.js'
import type { ProxyRegistry } from '../proxies/proxy-registry.js'

/** Where the host gets policies from: the mesh catalog. */
export interface PolicyProvider {
  /** The policy in force, or undefined while the proxy is not registered, its workload does not exist or the mesh has not been read yet. */
  policyFor(proxy: ProxyKey): PolicyPart<ProxyPart> | undefined
  /** A policy in force with its endpoints: `endpoints` parts that it refers to are empty otherwise. */
  whole(policy: PolicyPart<ProxyPart>): PolicyPart<ProxyPart>
  /** The `endpoints` part with its endpoints, by the hash of the empty part that policies in force refer to. */
  endpointsOf(frame: PartHash): PolicyPart<EndpointsPart> | undefined
  /** Calls back with endpoints that have become others, before {@link PolicyProvider.onPolicies}. The result ends it. */
  onEndpoints(listener: (changes: readonly EndpointsChange[]) => void): () => void
  /**
   * True if the policies in force may send traffic to the workload. Changes wait for others before policies are computed, so callers are told a while after
   * a workload is taken out of service.
   */
  takesTraffic(proxy: ProxyKey): boolean
  /** Calls back after each recomputation with the proxies whose policy changed. The result ends it. */
  onPolicies(listener: (changed: ReadonlySet<ProxyKey>) => void): () => void
  /**
   * Calls back after each recomputation, whether it changed a policy or not, with the only accounts that may be behind other services than before; undefined
   * where any may. The result ends it.
   */
  announcements(listener: (accounts: readonly ServiceAccountRef[] | undefined) => void): () => void
}

/** Whom the host tells of proxies: the mesh catalog. */
export interface ProxyCatalog {
  readonly proxies: ProxyRegistry
  /** A certificate was issued for a proxy, which is expected to connect. */
  expectProxy(commonName: ProxyCommonName): void
  /** A proxy has connected. Its policy is kept up to date from now on. */
  registerProxy(proxy: ProxyRef): void
  /** The session of a proxy has ended. */
  unregisterProxy(proxy: ProxyRef): void
  /** The proxy is not expected back: its policy is not kept up to date any more, unless it is connected. */
  releasePolicy(proxy: ProxyKey): void
}

/** A workload with a sidecar. */
export interface ProxyInstance extends ProxyIdentity {
  /** Sidecar class that the workload was admitted with. */
  readonly class: string
  /** Name of the pod or process, for people. */
  readonly name: string
  /** IP addresses of the workload. */
  readonly addresses: readonly string[]
  /** True if it takes traffic, by the latest objects. */
  readonly ready: boolean
  /** Present: its sidecar takes its service certificate from a SPIFFE Workload API, and is given none. */
  readonly serviceCredential?: 'workload-api'
  /** Present where several workloads have one whole identity, of which there should be one. */
  readonly sharing?: ProxySharing
}

/** Workloads of one uuid, namespace and service account. The proxy belongs to one of them, the others have none. */
export interface ProxySharing {
  /** Name of the workload that the proxy belongs to. */
  readonly owner: string
  /** How many they are. */
  readonly count: number
  /** When the second of them was made, RFC 3339. */
  readonly since: string
}

/** Which workloads exist. */
export interface InstanceProvider {
  /** The workload that a proxy belongs to. */
  instance(proxy: ProxyKey): ProxyInstance | undefined
  /** All of them, sorted by namespace and name. */
  instances(): readonly ProxyInstance[]
  /**
   * Calls back with the proxies of all workloads at once, then with those of each workload that is new or has changed. A workload with a proxy was admitted
   * with a certificate for it. The result ends it.
   */
  onPresent(listener: (proxies: readonly ProxyKey[]) => void): () => void
  /** Calls back with proxies that belong to no workload any more. The result ends it. */
  onRemoved(listener: (proxies: readonly ProxyKey[]) => void): () => void
}
