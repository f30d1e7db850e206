import type { ServiceAccountRef } from '@osm-ts/driver-api'

import type { ProxyKey } from '../identity/proxy-key.js'
import type { KindMap, MeshObject, ObjectKey } from '../spec/objects.js'
import type { Kind } from '../spec/schema/kinds.js'

/** An object that services select by its labels. */
export type SelectableObject = KindMap['Workload'] | KindMap['WorkloadInstance']

/**
 * A frozen view of all objects of all sources at one moment.
 *
 * Lists are sorted by namespace, then name (by code unit), so that what is computed from equal snapshots is equal
 * whatever order the objects came in. Snapshots share what did not change: lists of an untouched kind are the same
 * arrays.
 */
export interface Snapshot {
  /** Grows by one with every snapshot of a builder. */
  readonly revision: number
  /** The object, or undefined. Namespace is empty for cluster-scoped kinds. */
  get<K extends Kind>(kind: K, namespace: string, name: string): KindMap[K] | undefined
  /** The object by its key. */
  getByKey(key: ObjectKey): MeshObject | undefined
  /** All objects of a kind. */
  list<K extends Kind>(kind: K): readonly KindMap[K][]
  /** All objects of a kind in a namespace. */
  byNamespace<K extends Kind>(kind: K, namespace: string): readonly KindMap[K][]
  /** Names of all namespaces that hold objects or are objects themselves, sorted. */
  namespaces(): readonly string[]
  /** Services of the namespace whose selector matches the labels. A service without selector selects nothing. */
  servicesSelecting(namespace: string, labels: Readonly<Record<string, string>>): readonly KindMap['Service'][]
  /** Workloads that the service selects. */
  workloadsOf(service: KindMap['Service']): readonly KindMap['Workload'][]
  /** Running instances that the service selects. */
  instancesOf(service: KindMap['Service']): readonly KindMap['WorkloadInstance'][]
  /** Workloads that run under a service account. */
  workloadsOfIdentity(account: ServiceAccountRef): readonly KindMap['Workload'][]
  /** Running instances under a service account. */
  instancesOfIdentity(account: ServiceAccountRef): readonly KindMap['WorkloadInstance'][]
  /** The running instance that a proxy belongs to: of several with one whole identity the oldest, of equally old ones the first by name. */
  instanceOfProxy(proxy: ProxyKey): KindMap['WorkloadInstance'] | undefined
  /** All running instances with the whole identity of a proxy; there should be one. */
  instancesOfProxy(proxy: ProxyKey): readonly KindMap['WorkloadInstance'][]
  /** All running instances of any namespace and account with a uuid. */
  instancesByUuid(uuid: string): readonly KindMap['WorkloadInstance'][]
}

/** A snapshot and how it differs from the one before. */
export interface SnapshotUpdate {
  readonly snapshot: Snapshot
  /** Keys of objects that were added, changed or removed; sorted. */
  readonly changed: readonly ObjectKey[]
}
