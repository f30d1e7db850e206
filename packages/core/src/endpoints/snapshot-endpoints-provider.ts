import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { SelectableObject, Snapshot, SnapshotUpdate } from '../snapshot/snapshot.js'
import { servicesOfAccount } from '../spec/mesh-spec.js'
import type { KindMap, MeshObject, ObjectKey } from '../spec/objects.js'
import {
  known,
  sortedNames,
  uniqueEndpoints,
  type Answer,
  type Endpoint,
  type EndpointsAnnouncement,
  type EndpointsProvider,
} from './endpoint.js'
import { importedAccounts, importedEndpoints, importedServices } from './imported-endpoints.js'
import { findService, localEndpoints } from './local-endpoints.js'

/** Where the provider reads. */
export interface SnapshotEndpointsOptions {
  readonly id: string
  /** Which instances count, such as machines beside the pods of a cluster, and no imports. All count, and imports too, if absent. */
  readonly only?: (instance: KindMap['WorkloadInstance']) => boolean
  /** The snapshot to answer from; called for every question. */
  readonly current: () => Snapshot
  readonly subscribe: (listener: (update: SnapshotUpdate) => void) => () => void
}

/**
 * The provider of a YAML folder: instances that the supervisor started, workloads that run elsewhere at a fixed
 * address, and services of other clusters. Its answers are always `known`: a folder that can't be read keeps its last
 * good objects.
 */
export class SnapshotEndpointsProvider implements EndpointsProvider {
  readonly id: string
  readonly #options: SnapshotEndpointsOptions

  constructor(options: SnapshotEndpointsOptions) {
    this.id = options.id
    this.#options = options
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    return known(uniqueEndpoints(this.#endpoints(service)))
  }

  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef> {
    const snapshot = this.#options.current()
    const query = findService(snapshot, service)
    const imported = this.#options.only !== undefined ? [] : importedAccounts(snapshot, service)
    if (query === undefined) return known(imported)
    const instances = snapshot
      .instancesOf(query.service)
      .filter(
        (instance) =>
          this.#counts(instance) && (query.hostname === undefined || instance.spec.hostname === query.hostname),
      )
    const local = [...snapshot.workloadsOf(query.service), ...instances].map(accountOf)
    return known(sortedNames([...local, ...imported]))
  }

  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService> {
    const snapshot = this.#options.current()
    const imported = this.#options.only !== undefined ? [] : importedServices(snapshot, account)
    return known(sortedNames([...servicesOfAccount(snapshot, account), ...imported]))
  }

  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint> {
    const { items: services } = this.listServicesForIdentity(account)
    const endpoints = services.flatMap((service) => this.#endpoints(service))
    const own = endpoints.filter(
      (it) => it.account?.namespace === account.namespace && it.account.name === account.name,
    )
    return known(uniqueEndpoints(own))
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    let before = this.#options.current()
    return this.#options.subscribe(({ snapshot, changed }) => {
      const announcement = affectedBy(changed, [before, snapshot])
      before = snapshot
      if (announcement.services.length > 0 || announcement.accounts.length > 0) listener(announcement)
    })
  }

  #endpoints(service: MeshService): readonly Endpoint[] {
    const snapshot = this.#options.current()
    const query = findService(snapshot, service)
    const local = query === undefined ? [] : localEndpoints(snapshot, query, (instance) => this.#counts(instance))
    return this.#options.only !== undefined ? local : [...local, ...importedEndpoints(snapshot, service)]
  }

  #counts(instance: KindMap['WorkloadInstance']): boolean {
    return this.#options.only?.(instance) ?? true
  }
}

/** The services and identities whose endpoints may differ between the two snapshots. */
function affectedBy(changed: readonly ObjectKey[], snapshots: readonly Snapshot[]): EndpointsAnnouncement {
  const services: MeshService[] = []
  const accounts: ServiceAccountRef[] = []
  const addSelectable = (object: SelectableObject): void => {
    accounts.push(accountOf(object))
    // Labels are looked up among the services of both snapshots: a service may have changed in the same step.
    for (const snapshot of snapshots)
      for (const { metadata } of snapshot.servicesSelecting(object.metadata.namespace, object.metadata.labels))
        services.push(nameOf(metadata))
  }
  for (const [key, snapshot] of changed.flatMap((key) => snapshots.map((snapshot) => [key, snapshot] as const))) {
    const object = snapshot.getByKey(key)
    if (object === undefined) continue
    if (isSelectable(object)) addSelectable(object)
    if (object.kind === 'ServiceImport' || object.kind === 'GlobalTrafficPolicy') {
      services.push(nameOf(object.metadata))
      for (const snapshot of snapshots) accounts.push(...importedAccounts(snapshot, nameOf(object.metadata)))
    }
    if (object.kind !== 'Service') continue
    services.push(nameOf(object.metadata))
    accounts.push(...[...snapshot.workloadsOf(object), ...snapshot.instancesOf(object)].map(accountOf))
  }
  return { services: sortedNames(services), accounts: sortedNames(accounts) }
}

function nameOf({ namespace, name }: MeshService): MeshService {
  return { namespace, name }
}

function accountOf({ metadata, spec }: SelectableObject): ServiceAccountRef {
  return { namespace: metadata.namespace, name: spec.serviceAccountName }
}

function isSelectable(object: MeshObject): object is SelectableObject {
  return object.kind === 'Workload' || object.kind === 'WorkloadInstance'
}
