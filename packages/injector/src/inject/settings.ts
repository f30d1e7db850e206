import type { ConfigEnvironment, DriverRegistry, IpFamilies, MeshConfig, MeshDomains } from '@osm-ts/core'
import type { InjectorContext, MeshConfigView } from '@osm-ts/driver-api'

import type { JsonObject } from '../json/json.js'
import type { WorkloadApi } from '../sidecar/workload-api.js'

/** What injection goes by, the same for all pods until the MeshConfig changes. */
export interface InjectionSettings {
  readonly meshName: string
  readonly osmNamespace: string
  readonly domains: MeshDomains
  readonly config: MeshConfig
  readonly configView: MeshConfigView
  readonly registry: DriverRegistry
  /** Images where MeshConfig names none. */
  readonly environment: ConfigEnvironment
  /** Who makes the key of a sidecar: the injector, in a Secret, or the kubelet of its pod. */
  readonly proxyIdentity: 'secret' | 'podCertificate'
  /** The SPIFFE Workload API of the nodes; absent where there is none, and the mesh gives all service certificates. */
  readonly workloadApi?: WorkloadApi
  readonly pullPolicy: InjectorContext['pullPolicy']
  /** True: sidecars are init containers that continue running. */
  readonly nativeSidecars: boolean
  /** True: the cluster knows hooks that wait. */
  readonly sleepingHooks: boolean
  /** Address families of pods of the cluster. */
  readonly ipFamilies: IpFamilies
  /** Nameservers of the cluster, for pods whose sidecar answers DNS. */
  readonly nameservers: readonly string[]
  /** Roots of the control plane, PEM. */
  readonly trustBundle: readonly string[]
  /** Version of the control plane, for labels. */
  readonly version: string
}

/** A namespace, as far as injection reads it. */
export interface NamespaceFacts {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** A pod to be looked at. */
export interface InjectionRequest {
  readonly pod: JsonObject
  readonly namespace: NamespaceFacts
  readonly dryRun: boolean
  readonly signal: AbortSignal
}
